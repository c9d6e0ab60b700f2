import { execFileSync } from 'node:child_process';
import { hasTool, needToolHere } from './work.js';

// Trees of entries with all that an entry can have, and oracles that compare it.

const random = `
import os, random, stat, struct, subprocess, sys
root, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
ids = [0, 0, 1000, 1234, 65534]
os.umask(0)
os.mkdir(root)
directories, files, links, fifos = [root], [], [], []
def place(prefix):
    return os.path.join(rng.choice(directories), '%s%d' % (prefix, rng.getrandbits(40)))
for _ in range(count):
    kind = rng.choice(['file'] * 6 + ['directory'] * 2 + ['link', 'fifo', 'device', 'hard', 'hard', 'sparse'])
    path = place(kind)
    if kind == 'file':
        with open(path, 'wb') as file: file.write(rng.randbytes(rng.choice([0, 1, 100, 5000, 300000])))
        files.append(path)
    elif kind == 'sparse':
        with open(path, 'wb') as file:
            for _ in range(3):
                file.seek(rng.randrange(64) << 16)
                file.write(b'x' * 65536)
            file.truncate(rng.randrange(64 << 16, 8 << 20))
        files.append(path)
    elif kind == 'directory':
        os.mkdir(path)
        directories.append(path)
    elif kind == 'link':
        os.symlink(rng.choice(['nowhere', '..', '/etc', 'a' * 200]), path)
        links.append(path)
    elif kind == 'fifo':
        os.mkfifo(path)
        fifos.append(path)
    elif kind == 'device':
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, rng.randrange(3, 9)))
        fifos.append(path)
    elif files + links + fifos:
        os.link(rng.choice(files * 3 + links + fifos), path, follow_symlinks=False)
everything = directories + files + links + fifos
for path in everything:
    os.lchown(path, rng.choice(ids), rng.choice(ids))
for path in everything:
    if rng.random() < 0.3:
        os.setxattr(path, 'trusted.test', rng.randbytes(rng.randrange(300)), follow_symlinks=False)
for path in directories + files:
    if rng.random() < 0.4:
        for i in range(rng.randrange(1, 4)): os.setxattr(path, 'user.%d' % i, rng.randbytes(rng.choice([0, 10, 1000])))
for path in files:
    if rng.random() < 0.1:  # cap_net_raw, version 2
        os.setxattr(path, 'security.capability', struct.pack('<IIIII', 0x02000001, 0x2000, 0, 0, 0))
acls = [p for p in directories + files if rng.random() < 0.3]
for path in acls:
    rights = rng.choice(['r', 'rw', 'rwx', '-'])
    subprocess.run(['setfacl', '-m', 'u:%d:%s,g:77:r' % (rng.choice(ids[2:]), rights), path], check=True)
for path in [p for p in directories if rng.random() < 0.3]:
    subprocess.run(['setfacl', '-d', '-m', 'u:%d:rwx,o::-' % rng.choice(ids[2:]), path], check=True)
for path in directories + files + fifos:
    bits = rng.choice([0o644, 0o755, 0o600, 0o400, 0o000, 0o777, 0o4755, 0o2755, 0o6711, 0o1777, 0o751])
    os.chmod(path, bits)
for path in sorted(everything, key=len, reverse=True):
    when = rng.randrange(0, 2 ** 31) * 10 ** 9 + rng.randrange(10 ** 9)
    os.utime(path, ns=(when, when + rng.randrange(10 ** 9)), follow_symlinks=False)
`;

/** `count` entries, the same for the same seed. Takes root and setfacl. */
export function makeRandomTree(root: string, seed: number, count: number): string {
  needToolHere('python3');
  execFileSync('python3', ['-c', random, root, `${seed}`, `${count}`], { stdio: 'pipe' });
  return root;
}

const changing = `
import os, random, stat, struct, subprocess, sys
root, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
ids = [0, 1000, 1234, 65534]
everything = [root]
for path, directories, files in os.walk(root):
    everything += [os.path.join(path, name) for name in directories + files]
def acl(path, *words):
    subprocess.run(['setfacl', *words, path], check=True)
for _ in range(count):
    path = rng.choice(everything)
    mode = os.lstat(path).st_mode
    what = rng.randrange(10)
    if what == 0:
        os.lchown(path, rng.choice(ids), rng.choice(ids))
    elif what == 1:
        name = b'trusted.%d' % rng.randrange(2)
        if rng.random() < 0.5: os.setxattr(path, name, rng.randbytes(rng.randrange(300)), follow_symlinks=False)
        elif name.decode() in os.listxattr(path, follow_symlinks=False): os.removexattr(path, name, follow_symlinks=False)
    elif stat.S_ISLNK(mode):
        pass
    elif what == 2:
        os.chmod(path, rng.choice([0o644, 0o755, 0o600, 0o400, 0o000, 0o4755, 0o2755, 0o1777, 0o751]))
    elif what == 3 and not stat.S_ISCHR(mode) and not stat.S_ISFIFO(mode):
        name = b'user.%d' % rng.randrange(3)
        if rng.random() < 0.5: os.setxattr(path, name, rng.randbytes(rng.choice([0, 10, 1000])))
        elif name.decode() in os.listxattr(path): os.removexattr(path, name)
    elif what in (4, 5) and not stat.S_ISCHR(mode):
        acl(path, '-m', 'u:%d:%s,g:1000:%s' % (rng.choice(ids[1:]), rng.choice(['r', 'rwx', '-']), rng.choice(['r', 'rwx'])))
    elif what == 6:
        acl(path, '-b')
    elif what == 7 and stat.S_ISDIR(mode):
        if rng.random() < 0.5: acl(path, '-d', '-m', 'u:%d:rwx' % rng.choice(ids[1:]))
        else: acl(path, '-k')
    elif what == 8 and stat.S_ISREG(mode):
        if rng.random() < 0.6:
            os.setxattr(path, 'security.capability', struct.pack('<IIIII', 0x02000001, 1 << rng.randrange(30), 0, 0, 0))
        elif 'security.capability' in os.listxattr(path): os.removexattr(path, 'security.capability')
    elif what == 9:
        when = rng.randrange(0, 2 ** 31) * 10 ** 9 + rng.randrange(10 ** 9)
        os.utime(path, ns=(when, when))
`;

/** Changes what entries of a tree have beside their content, the same for the same seed and tree. */
export function changeAttributes(root: string, seed: number, count: number): void {
  needToolHere('python3');
  execFileSync('python3', ['-c', changing, root, `${seed}`, `${count}`], { stdio: 'pipe' });
}

const oracles: [name: string, needs: string, command: string][] = [
  // Directories differ in size and links in blocks, by the way they were made.
  [
    'find',
    'find',
    "find . \\( -type d -printf '%p %y %m %U %G %T@ %n\\n' \\) -o -printf '%p %y %m %U %G %T@ %n %s %l\\n' | sort",
  ],
  ['getfacl', 'getfacl', 'find . ! -type l -print0 | sort -z | xargs -0 getfacl -nP'],
  ['getfattr', 'getfattr', 'find . -print0 | sort -z | xargs -0 getfattr -hd -m - -e hex'],
];

/** What sync and mirror write on directories of DEST, which belongs to no entry of SRC. */
export const mark = 'user.fastcp.mark';

/** An entry's paragraph or line without the mark; empty where it has nothing else. */
function withoutMark(entry: string): string {
  if (!entry.includes(`${mark}=`)) return entry;
  const [name, ...attributes] = entry.split('\n').filter((line) => !line.startsWith(`${mark}=`));
  return attributes.length === 0 ? '' : [name, ...attributes].join('\n');
}

/** All that differs beside content, access times and marks, by four oracles. */
export function attributeDifferences(src: string, dest: string): string[] {
  const found: string[] = [];
  for (const [name, needs, command] of oracles) {
    if (!hasTool(needs)) continue;
    // A paragraph or line for each entry, with its name.
    const [from = [], to = []] = [src, dest].map((cwd) =>
      shell(command, cwd)
        .trim()
        .split(name === 'find' ? '\n' : '\n\n')
        .map(withoutMark)
        .filter(Boolean),
    );
    const [before, after] = [new Set(from), new Set(to)];
    for (const entry of before) if (!after.has(entry)) found.push(`${name}: lost ${entry}`);
    for (const entry of after) if (!before.has(entry)) found.push(`${name}: new ${entry}`);
  }
  if (hasTool('rsync')) {
    const output = shell(`rsync -aHAXSni --filter="-x ${mark}" --delete "$0"/ "$1"/`, '/', [
      src,
      dest,
    ]);
    found.push(...output.split('\n').filter(Boolean));
  }
  return found;
}

function shell(command: string, cwd: string, args: string[] = []): string {
  return execFileSync('sh', ['-c', `${command} 2>&1`, ...args], {
    cwd,
    encoding: 'latin1',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 1 << 28,
  });
}
