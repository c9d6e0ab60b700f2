import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasTool, needTool } from '../support/work.js';
import { FASTCP, fastcp, run } from './support/fastcp.js';
import { Screen } from './support/screen.js';
import { makeTree, temporaryDirectory } from './support/trees.js';

const cwd = temporaryDirectory();
makeTree(cwd, { 'a-directory/file': '', 'a file': '' });

test.each(['bash', 'zsh', 'fish'])('%s gets all options that the help has', async (shell) => {
  const [help, script] = await Promise.all([
    fastcp(['--help-all']),
    fastcp(['--completions', shell]),
  ]);
  const options = help.stdout.match(/(?<=^ +(?:-\w, )?--)[\w-]+/gm) ?? [];
  expect(options.length).toBeGreaterThan(30);
  const named = shell === 'fish' ? /(?<= -l )[\w-]+/g : /(?<=--)[\w-]+/g;
  const found: string[] = script.stdout.match(named) ?? [];
  expect(options.filter((option) => !found.includes(option))).toEqual([]);
});

test('a shell that is not known', async () => {
  const { exitCode, stderr } = await fastcp(['--completions', 'tcsh']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('choices are bash, zsh, fish');
});

describe('bash', () => {
  // What bash does when the key is pressed, but that it breaks words at `=` itself.
  const complete = `
    source <("$0" "$1" --completions bash)
    shift; COMP_WORDS=(fastcp "$@"); COMP_CWORD=$#
    _fastcp fastcp "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
    echo "\${COMPREPLY[*]}"`;

  test.each<[string[], string]>([
    [['--refl'], '--reflink'],
    [['--no-'], '--no-clobber --no-lock --no-mkpath --no-preserve --no-progress'],
    [['a', '--on'], '--only-ignored --one-file-system'],
    [['--sparse', ''], 'auto always'],
    [['--sparse', 'al'], 'always'],
    [['--reflink', '='], 'auto always never'],
    [['--reflink', '=', 'n'], 'never'],
    [['--atomic', '='], 'two-step'],
    [['--preserve', '=', 'x'], 'xattr'],
    // Paths are bash's own affair.
    [['--atomic', ''], ''],
    [['a-f'], ''],
    [['-j', ''], ''],
    [['--', '--re'], ''],
  ])('%j', async (words, expected) => {
    const { stdout, stderr } = await run('bash', [
      '--norc',
      ...['-c', complete, process.execPath, FASTCP, ...words],
    ]);
    expect({ stdout, stderr }).toEqual({ stdout: `${expected}\n`, stderr: '' });
  });

  test.skipIf(!hasTool('tmux'))('by the key, options and paths', async () => {
    const screen = new Screen(80, 24, cwd, { PATH: `${join(cwd, 'bin')}:${process.env.PATH}` });
    screen.type(`source <(${process.execPath} ${FASTCP} --completions bash); echo ready`);
    screen.press('Enter');
    await screen.until(/^ready/);
    screen.type('fastcp --only');
    screen.press('Tab');
    screen.type('--spar');
    screen.press('Tab');
    screen.type('alw');
    screen.press('Tab');
    screen.type('a-');
    screen.press('Tab');
    screen.type('f');
    screen.press('Tab');
    screen.type(' --snapshot=au');
    screen.press('Tab');
    screen.type('a\\ ');
    screen.press('Tab');
    await screen.until(
      /^\$ fastcp --only-ignored --sparse always a-directory\/file {1,2}--snapshot=auto a\\ fil/,
    );
  });
});

test('zsh takes it', async (context) => {
  needTool(context, 'zsh');
  const script = `autoload -U compinit; compinit -u -d "$2"; source <("$0" "$1" --completions zsh)
    print $_comps[fastcp]; _fastcp 2>&1 | head -1`;
  const words = ['-f', '-c', script, process.execPath, FASTCP, join(cwd, 'zcompdump')];
  const { stdout } = await run('zsh', words);
  expect(stdout).toMatch(
    /^_fastcp\n_arguments:comparguments:.* can only be called from completion/,
  );
});

test('fish takes it', async (context) => {
  needTool(context, 'fish');
  const script = `${process.execPath} ${FASTCP} --completions fish | source
    complete -C 'fastcp --sparse al'; complete -C 'fastcp --only-i'; complete -C 'fastcp --atomic=t'`;
  const { stdout, stderr } = await run('fish', ['--no-config', '-c', script], { cwd });
  expect(stderr).toBe('');
  expect(stdout.split('\n').map((line) => line.replace(/\t.*/, ''))).toEqual([
    'always',
    '--only-ignored',
    '--atomic=two-step',
    '',
  ]);
});
