/** Walks a tree with a selection as the engine does, but with node:fs: no engine. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseGlobs } from '../../../lib/selection/globs.js';
import {
  createSelection,
  type DirectoryScope,
  type Listed,
  type Selection,
  type SelectionOptions,
  verdicts,
} from '../../../lib/selection/index.js';

export interface Walked {
  /** Files, links and directories that are copied, sorted; directories end in a slash. */
  taken: string[];
  /** Entries that were looked at and left out, with the reason. */
  left: Map<string, string | undefined>;
  /** Everything that was asked about, and its kind. */
  asked: Map<string, Listed['kind']>;
  /** Directories that were opened. */
  opened: string[];
  selection: Selection | undefined;
}

/** With globs as users give them. */
interface Given extends Omit<SelectionOptions, 'include' | 'exclude'> {
  include: readonly string[];
  exclude: readonly string[];
}

export async function select(
  src: string,
  { include, exclude = [], ...options }: Partial<Given>,
  shown?: string,
): Promise<Selection | undefined> {
  const globs = {
    include: include && parseGlobs(include, 'options.include'),
    exclude: parseGlobs(exclude, 'options.exclude'),
  };
  const none = { gitignore: false, onlyIgnored: false, ignoreFileNames: [], dereference: false };
  return createSelection(Buffer.from(src), { ...none, ...options, ...globs }, shown);
}

/** Names are decoded with U+FFFD only here: `bytes` in the result's paths are as in the selection. */
export async function walk(src: string, options: Partial<Given>, shown = ''): Promise<Walked> {
  const selection = await select(src, { explain: true, ...options }, shown);
  const walked: Walked = { taken: [], left: new Map(), asked: new Map(), opened: [], selection };

  const takeDirectory = async (path: string): Promise<void> => {
    walked.opened.push(path);
    for (const { name, kind } of await list(src, path)) {
      if (kind !== 'directory') walked.taken.push(path + name);
      else {
        walked.taken.push(`${path}${name}/`);
        await takeDirectory(`${path}${name}/`);
      }
    }
  };
  /** Whether anything was taken. */
  const judgeDirectory = async (chosen: Selection, scope: DirectoryScope): Promise<boolean> => {
    walked.opened.push(scope.path);
    const entries = await list(src, scope.path);
    const judged = await chosen.judge(await chosen.enter(scope, entries), entries);
    let any = false;
    for (const [i, { name, kind }] of entries.entries()) {
      const path = scope.path + name;
      const verdict = judged.verdicts[i];
      walked.asked.set(path, kind);
      if (verdict === verdicts.leave) {
        walked.left.set(path, judged.reasons?.[i]);
        continue;
      }
      if (kind !== 'directory') walked.taken.push(path);
      let made = verdict !== verdicts.look;
      if (kind === 'directory') {
        if (verdict === verdicts.takeAll) await takeDirectory(`${path}/`);
        else made = (await judgeDirectory(chosen, judged.scopes[i] as DirectoryScope)) || made;
        if (made) walked.taken.push(`${path}/`);
      }
      any ||= made;
    }
    return any;
  };
  if (selection) await judgeDirectory(selection, selection.root);
  else await takeDirectory('');
  walked.taken.sort();
  return walked;
}

/** What is taken, without directories. */
export async function filesTaken(src: string, options: Partial<Given>): Promise<string[]> {
  const { taken } = await walk(src, options);
  return taken.filter((path) => !path.endsWith('/'));
}

async function list(src: string, path: string): Promise<Listed[]> {
  const directory = Buffer.concat([Buffer.from(join(src, '/')), Buffer.from(path, 'latin1')]);
  const entries = await readdir(directory, { withFileTypes: true, encoding: 'buffer' });
  return entries.map((entry) => ({
    name: (entry.name as unknown as Buffer).toString('latin1'),
    kind: kindOf(entry as unknown as Dirent),
  }));
}

function kindOf(entry: Dirent): Listed['kind'] {
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'symlink' : 'file';
}
