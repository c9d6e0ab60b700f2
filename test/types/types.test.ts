import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

// The published declarations, through the package's name, as an editor and tsc see them.

const programs = join(import.meta.dirname, 'programs');
const config = parse(join(programs, 'tsconfig.json'));

function parse(path: string): ts.ParsedCommandLine {
  const { config: json, error } = ts.readConfigFile(path, ts.sys.readFile);
  expect(error).toBeUndefined();
  return ts.parseJsonConfigFileContent(json, ts.sys, programs);
}

test('programs compile as ES modules and as CommonJS', () => {
  const program = ts.createProgram(config.fileNames, config.options);
  const found = ts.getPreEmitDiagnostics(program).map((one) => {
    const { line = 0 } = one.file?.getLineAndCharacterOfPosition(one.start ?? 0) ?? {};
    const text = ts.flattenDiagnosticMessageText(one.messageText, '\n');
    return `${one.file?.fileName}:${line + 1}: ${text}`;
  });
  expect(found).toEqual([]);
  const names = program.getSourceFiles().map(({ fileName }) => fileName);
  const dist = join(import.meta.dirname, '../../dist');
  expect(names).toEqual(
    expect.arrayContaining([join(dist, 'index.d.ts'), join(dist, 'index.d.cts')]),
  );
});

describe('an editor', () => {
  const path = join(programs, 'hover.mts');
  const common = [
    'exclude',
    'gitignore',
    'sync',
    'mirror',
    'preserve',
    'filter',
    'signal',
    'onError',
    'atomic',
    'onProgress',
  ];
  const lines = common.map((name) => `options.${name};`);
  const codes = ["error.code === '';", "warning.code === '';"];
  const text = [
    "import type { CopyErrorLike, CopyOptions, CopyWarning } from 'fastcp';",
    'declare const options: CopyOptions, error: CopyErrorLike, warning: CopyWarning;',
    ...lines,
    ...codes,
  ].join('\n');
  const service = ts.createLanguageService({
    getCompilationSettings: () => config.options,
    getScriptFileNames: () => [path],
    getScriptVersion: () => '1',
    getScriptSnapshot(name) {
      const content = name === path ? text : ts.sys.readFile(name);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => programs,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === path || ts.sys.fileExists(name),
    readFile: (name) => (name === path ? text : ts.sys.readFile(name)),
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  });

  test.each(common)('says what %s does', (name) => {
    const info = service.getQuickInfoAtPosition(path, text.indexOf(`.${name};`) + 1);
    const type = ts.displayPartsToString(info?.displayParts);
    const says = ts.displayPartsToString(info?.documentation);
    if (process.env.FASTCP_SHOW_HOVER) console.log(`${type}\n\n${says}\n`);
    expect(type).toContain(`CopyOptions.${name}?: `);
    expect(says).toMatch(/^[A-Z`].+\./s);
    if (/boolean|"/.test(type)) expect(says).toContain('Default');
  });

  test.each([
    ['error', ['ENOENT', 'ERR_FS_CP_EINVAL', 'ERR_FASTCP_DEST_PROTECTED']],
    ['warning', ['SOCKET_SKIPPED', 'HARD_LINKS_NOT_PRESERVED']],
  ])('completes codes of an %s', (name, wanted) => {
    const at = text.indexOf(`${name}.code === '`) + `${name}.code === '`.length;
    const entries = service.getCompletionsAtPosition(path, at, {})?.entries ?? [];
    expect(entries.map((one) => one.name)).toEqual(expect.arrayContaining(wanted));
  });
});
