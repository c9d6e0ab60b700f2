"""Prints as JSON what an addon is for, needs and exports, whatever system it is for."""

import json
import sys

import lief

lief.logging.disable()

binary = lief.parse(sys.argv[1])
found = {"exports": sorted(symbol.name.lstrip("_") for symbol in binary.exported_functions)}

if isinstance(binary, lief.ELF.Binary):
    found["machine"] = f"linux-{binary.header.machine_type.name}"
    found["libraries"] = list(binary.libraries)
    needed = [aux.name for of in binary.symbols_version_requirement for aux in of.get_auxiliary_symbols()]
    found["versions"] = sorted(set(needed))
elif isinstance(binary, lief.MachO.Binary):
    found["machine"] = f"darwin-{binary.header.cpu_type.name}"
    found["libraries"] = [
        command.name
        for command in binary.libraries
        if command.command != lief.MachO.LoadCommand.TYPE.ID_DYLIB
    ]
    # What no library was named for, which the linker leaves to whoever loads it.
    weak = lief.MachO.DyldBindingInfo.CLASS.WEAK
    left = [of for of in binary.bindings if not of.has_library and of.binding_class != weak]
    found["host"] = sorted({of.symbol.name.lstrip("_") for of in left})
    major, minor, _ = binary.build_version.minos
    found["macos"] = f"{major}.{minor}"
else:
    found["machine"] = f"win32-{binary.header.machine.name}"
    found["libraries"] = [needed.name for needed in [*binary.imports, *binary.delay_imports]]

print(json.dumps(found))
