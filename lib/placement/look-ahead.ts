/** Looks ahead at what placement will need, so that only libuv's pool waits for a file system. */
import { isSame, Looks } from '../io/looks.js';
import { baseName, directoryOf, endsInSlash, homeDirectory, join, trimSlashes } from '../paths.js';
import { deletes, type Request } from '../request/request.js';
import { fetchChain, fetchNearest } from './real-paths.js';

/** Looks at SRC, at DEST and at the directories above, as many as possible at once. Never rejects. */
export async function lookAhead(request: Request): Promise<Looks> {
  const { sources, several, dest, like } = request;
  const looks = new Looks();
  const at = trimSlashes(dest);
  const into = like === 'fastcp' && (several || endsInSlash(dest));
  const ends = sources.map((src) => {
    return lookAtEnds(src, into ? join(at, baseName(src)) : at, request, looks);
  });
  await Promise.all([looks.fetchEntry(directoryOf(at)), into && looks.fetchEntry(at), ...ends]);
  return looks;
}

async function lookAtEnds(
  src: Buffer,
  dest: Buffer,
  request: Request,
  looks: Looks,
): Promise<void> {
  const follow =
    request.dereference || request.worktree || (request.like === 'fastcp' && endsInSlash(src));
  const [found, there] = await Promise.all([
    follow ? looks.fetch('stat', src) : looks.fetchEntry(src).then(() => looks.fetch('lstat', src)),
    looks.fetch('lstat', dest),
  ]);
  const near = await fetchNearest(dest, looks);
  const more: Promise<unknown>[] = [];
  if (!found) {
    // Its error says more.
    more.push(looks.fetchEntry(trimSlashes(src)));
  } else if (
    deletes(request) ||
    !found.isFile() ||
    there?.isSymbolicLink() ||
    (there && isSame(found, there))
  ) {
    const chains = [near, directoryOf(dest)];
    if (deletes(request) || !found.isDirectory()) chains.push(src, directoryOf(src));
    if (deletes(request)) chains.push(Buffer.from(homeDirectory() ?? '/'));
    more.push(...chains.map((path) => fetchChain(path, looks)));
  }
  await Promise.all(more);
}
