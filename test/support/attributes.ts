import { execFileSync } from 'node:child_process';
import { hasTool } from './work.js';

// Trees of entries with all that an entry can have, and oracles that compare it.

const random = `
import os, random, stat, struct, subprocess, sys
root, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
ids = [0, 0, 1000, 1234, 65534]
os.umask(0)
os.mkdir(root)
folders, files, links, fifos = [root], [], [], []
def place(prefix):
    return os.path.join(rng.choice(folders), '%s%d' % (prefix, rng.getrandbits(40)))
for _ in range(count):
    kind = rng.choice(['file'] * 6 + ['folder'] * 2 + ['link', 'fifo', 'device', 'hard', 'hard', 'sparse'])
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
    elif kind == 'folder':
        os.mkdir(path)
        folders.append(path)
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
everything = folders + files + links + fifos
for path in everything:
    os.lchown(path, rng.choice(ids), rng.choice(ids))
for path in everything:
    if rng.random() < 0.3:
        os.setxattr(path, 'trusted.test', rng.randbytes(rng.randrange(300)), follow_symlinks=False)
for path in folders + files:
    if rng.random() < 0.4:
        for i in range(rng.randrange(1, 4)): os.setxattr(path, 'user.%d' % i, rng.randbytes(rng.choice([0, 10, 1000])))
for path in files:
    if rng.random() < 0.1:  # cap_net_raw, version 2
        os.setxattr(path, 'security.capability', struct.pack('<IIIII', 0x02000001, 0x2000, 0, 0, 0))
acls = [p for p in folders + files if rng.random() < 0.3]
for path in acls:
    rights = rng.choice(['r', 'rw', 'rwx', '-'])
    subprocess.run(['setfacl', '-m', 'u:%d:%s,g:77:r' % (rng.choice(ids[2:]), rights), path], check=True)
for path in [p for p in folders if rng.random() < 0.3]:
    subprocess.run(['setfacl', '-d', '-m', 'u:%d:rwx,o::-' % rng.choice(ids[2:]), path], check=True)
for path in folders + files + fifos:
    bits = rng.choice([0o644, 0o755, 0o600, 0o400, 0o000, 0o777, 0o4755, 0o2755, 0o6711, 0o1777, 0o751])
    os.chmod(path, bits)
for path in sorted(everything, key=len, reverse=True):
    when = rng.randrange(0, 2 ** 31) * 10 ** 9 + rng.randrange(10 ** 9)
    os.utime(path, ns=(when, when + rng.randrange(10 ** 9)), follow_symlinks=False)
`;

/** `count` entries, the same for the same seed. Takes root and setfacl. */
export function makeRandomTree(root: string, seed: number, count: number): string {
  execFileSync('python3', ['-c', random, root, `${seed}`, `${count}`], { stdio: 'pipe' });
  return root;
}

const oracles: [name: string, needs: string, command: string][] = [
  // Folders differ in size and links in blocks, by the way they were made.
  [
    'find',
    'find',
    "find . \\( -type d -printf '%p %y %m %U %G %T@ %n\\n' \\) -o -printf '%p %y %m %U %G %T@ %n %s %l\\n' | sort",
  ],
  ['getfacl', 'getfacl', 'find . ! -type l -print0 | sort -z | xargs -0 getfacl -nP'],
  ['getfattr', 'getfattr', 'find . -print0 | sort -z | xargs -0 getfattr -hd -m - -e hex'],
];

/** All that differs beside content and access times, by four oracles. */
export function attributeDifferences(src: string, dest: string): string[] {
  const found: string[] = [];
  for (const [name, needs, command] of oracles) {
    if (!hasTool(needs)) continue;
    // A paragraph or line for each entry, with its name.
    const [from = [], to = []] = [src, dest].map((cwd) =>
      shell(command, cwd)
        .trim()
        .split(name === 'find' ? '\n' : '\n\n'),
    );
    const [before, after] = [new Set(from), new Set(to)];
    for (const entry of before) if (!after.has(entry)) found.push(`${name}: lost ${entry}`);
    for (const entry of after) if (!before.has(entry)) found.push(`${name}: new ${entry}`);
  }
  if (hasTool('rsync')) {
    const output = shell('rsync -aHAXSni --delete "$0"/ "$1"/', '/', [src, dest]);
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
