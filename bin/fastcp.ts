#!/usr/bin/env node
import type { CommanderError } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { readArguments } from './arguments.js';
import { guardedStream, Output, trouble } from './output.js';
import { asksForVersion, plainInvocation } from './plain.js';

main().then(
  // Not process.exit(), because output may still be waiting.
  (exitCode) => {
    process.exitCode ||= exitCode;
  },
  (error: Error) => {
    guardedStream('stderr').write(
      `fastcp: ${process.env.FASTCP_DEBUG ? error.stack : error.message}\n`,
    );
    process.exitCode = trouble.exitCode;
  },
);

/** Returns 0 if done, 1 if something failed, 2 for wrong usage, and 128 + n after signal n. */
async function main(): Promise<number> {
  const argv = readArguments();
  if (asksForVersion(argv)) {
    const out = Output.to('stdout', new AbortController().signal);
    await out.line(manifest.version);
    await out.flush();
    return 0;
  }
  const { speakInFlags } = await import('./flags.js');
  speakInFlags();
  try {
    return await start(argv);
  } catch (error) {
    const { code = '', exitCode, message } = error as Partial<CommanderError> & Error;
    if (exitCode === 0) return 0; // the help is printed
    if (!/^ERR_(INVALID_ARG|OUT_OF_RANGE)/.test(code)) throw error;
    if (argv.includes('--json')) {
      const { usageLine } = await import('./report-json.js');
      guardedStream('stdout').write(`${usageLine(message)}\n`);
    }
    const { escapeControls } = await import('./format.js');
    // It may echo a word, or a line of a file.
    const text = message.split('\n').map(escapeControls).join('\n');
    const help = argv.includes('--doctor') ? '--doctor --help' : '--help';
    guardedStream('stderr').write(`fastcp: ${text}\nTry 'fastcp ${help}'.\n`);
    return 2;
  }
}

async function start(argv: readonly string[]): Promise<number> {
  const plain = plainInvocation(argv);
  if (plain === undefined) {
    // Commander writes to stdout, and so does the doctor.
    guardedStream('stdout');
    guardedStream('stderr');
  }
  const invocation = plain ?? (await import('./args.js')).parseArgs(argv);
  if (invocation === 'doctor') {
    const { runDoctor } = await import('./doctor.js');
    return runDoctor(argv);
  }
  if (invocation.compare) {
    trouble.exitCode = 2;
    const { runCompare } = await import('./compare.js');
    return runCompare(invocation);
  }
  // Most usage errors do not need what this loads.
  const { run } = await import('./run.js');
  return run(invocation);
}
