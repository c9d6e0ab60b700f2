"""A file system that finds names in any case and form of Unicode, and lists them as they were created: as APFS does
on a Mac, and ext4 where its casefold feature is on. Linux kernels often lack that feature.

    folding.py as-hfs|as-ext4|renumbering BACKING DIRECTORY

Mounts BACKING at DIRECTORY, which takes root, and serves it in the background until it is unmounted. It speaks the
protocol of /dev/fuse (linux/fuse.h), so it needs nothing but Python. Its type is fuse.apfs.

A rename over an entry in another spelling gives the entry the new spelling on HFS+ (hfs_vnop_rename() of Apple's open
sources), and leaves the old one on ext4. Nobody could look at APFS. So tests run with either.

As on APFS, names that are not UTF-8 are refused with EILSEQ. The kernel itself takes a rename to another spelling of
the same name for one of a file to itself, which does nothing: a test needs two steps.

With `renumbering`, entries have another inode number at each look.
"""

import ctypes
import errno
import os
import resource
import stat
import struct
import sys
import unicodedata

libc = ctypes.CDLL(None, use_errno=True)

NOREPLACE, EXCHANGE = 1, 2
MODE, UID, GID, SIZE, ATIME, MTIME, HANDLE, ATIME_NOW, MTIME_NOW = (1 << bit for bit in range(9))
ROOT = 1


def decomposed(name):
    return unicodedata.normalize("NFD", name)


def key_of(name):
    try:
        return decomposed(decomposed(name.decode()).casefold())
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "not UTF-8")


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")


def text(data):
    return data.split(b"\0")[0]


class Node:
    def __init__(self, number, file):
        self.number, self.file, self.lookups = number, file, 0
        self.path = f"/proc/self/fd/{file}"


class Volume:
    def __init__(self, backing, how):
        self.respells, self.renumbers, self.number = how == "as-hfs", how == "renumbering", 1 << 20
        root = Node(ROOT, os.open(backing, os.O_PATH | os.O_DIRECTORY))
        self.nodes, self.by_inode, self.last = {ROOT: root}, {}, ROOT
        self.listings = {}

    # --- names ---------------------------------------------------------------------------------------

    def existing(self, directory, name):
        """The name as it was created, or None."""
        key = key_of(name)
        try:
            os.stat(name, dir_fd=directory.file, follow_symlinks=False)
            return name
        except FileNotFoundError:
            pass
        names = map(os.fsencode, os.listdir(directory.path))
        return next((other for other in names if key_of(other) == key), None)

    def found(self, directory, name):
        existing = self.existing(directory, name)
        if existing is None:
            raise FileNotFoundError(errno.ENOENT, "")
        return existing

    def free(self, directory, name):
        if self.existing(directory, name) is not None:
            raise FileExistsError(errno.EEXIST, "")

    # --- replies -------------------------------------------------------------------------------------

    def attributes(self, node):
        s = os.stat(node.file)
        self.number += 1
        times = (s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns)
        return struct.pack(
            "=6Q10I",
            *(self.number if self.renumbers else s.st_ino, s.st_size, s.st_blocks),
            *(time // 10**9 for time in times),
            *(time % 10**9 for time in times),
            *(s.st_mode, s.st_nlink, s.st_uid, s.st_gid, s.st_rdev, 4096, 0),
        )

    def entry(self, directory, name):
        file = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=directory.file)
        inode = os.stat(file).st_ino
        node = self.by_inode.get(inode)
        if node is None:
            self.last += 1
            node = self.nodes[self.last] = self.by_inode[inode] = Node(self.last, file)
        else:
            os.close(file)
        node.lookups += 1
        # Nothing is remembered: the same entry has several names.
        return struct.pack("=QQQQII", node.number, 0, 0, 0, 0, 0) + self.attributes(node)

    def created(self, directory, name, uid, gid):
        above = os.stat(directory.file)
        path = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=directory.file)
        try:
            mode = os.stat(path).st_mode
            os.chown(f"/proc/self/fd/{path}", uid, above.st_gid if above.st_mode & stat.S_ISGID else gid)
            if not stat.S_ISLNK(mode):
                os.chmod(f"/proc/self/fd/{path}", stat.S_IMODE(mode))
        finally:
            os.close(path)
        return self.entry(directory, name)

    def forget(self, number, lookups):
        node = self.nodes.get(number)
        if node is None or number == ROOT:
            return
        node.lookups -= lookups
        if node.lookups <= 0:
            del self.nodes[number], self.by_inode[os.stat(node.file).st_ino]
            os.close(node.file)

    # --- requests, by the names of linux/fuse.h ------------------------------------------------------------

    def lookup(self, node, data, *_):
        return self.entry(node, self.found(node, text(data)))

    def getattr(self, node, *_):
        return struct.pack("=QII", 0, 0, 0) + self.attributes(node)

    def setattr(self, node, data, *_):
        valid, _, handle, size, _, atime, mtime, _, ansec, mnsec, _, mode, _, uid, gid, _ = struct.unpack(
            "=II6Q8I", data[:88]
        )
        if valid & (UID | GID):
            os.chown(node.path, uid if valid & UID else -1, gid if valid & GID else -1)
        if valid & MODE:
            os.chmod(node.path, stat.S_IMODE(mode))
        if valid & SIZE:
            os.truncate(handle if valid & HANDLE else node.path, size)
        both = ATIME_NOW | MTIME_NOW
        if valid & both == both:
            os.utime(node.path)
        elif valid & (ATIME | MTIME):
            now = os.stat(node.file)
            os.utime(
                node.path,
                ns=(
                    atime * 10**9 + ansec if valid & ATIME else now.st_atime_ns,
                    mtime * 10**9 + mnsec if valid & MTIME else now.st_mtime_ns,
                ),
            )
        return self.getattr(node)

    def readlink(self, node, *_):
        return os.readlink(b"", dir_fd=node.file)

    def symlink(self, node, data, uid, gid):
        name, target = data.split(b"\0")[:2]
        self.free(node, name)
        os.symlink(target, name, dir_fd=node.file)
        return self.created(node, name, uid, gid)

    def mknod(self, node, data, uid, gid):
        mode, device = struct.unpack("=II", data[:8])
        name = text(data[16:])
        self.free(node, name)
        os.mknod(name, mode, device, dir_fd=node.file)
        return self.created(node, name, uid, gid)

    def mkdir(self, node, data, uid, gid):
        (mode,) = struct.unpack("=I", data[:4])
        name = text(data[8:])
        self.free(node, name)
        os.mkdir(name, mode, dir_fd=node.file)
        return self.created(node, name, uid, gid)

    def unlink(self, node, data, *_):
        os.unlink(self.found(node, text(data)), dir_fd=node.file)

    def rmdir(self, node, data, *_):
        os.rmdir(self.found(node, text(data)), dir_fd=node.file)

    def rename(self, node, data, *_):
        (target,) = struct.unpack("=Q", data[:8])
        self.move(node, self.nodes[target], data[8:], 0)

    def rename2(self, node, data, *_):
        target, flags = struct.unpack("=QI", data[:12])
        self.move(node, self.nodes[target], data[16:], flags)

    def move(self, node, target, names, flags):
        one, other = names.split(b"\0")[:2]
        source, there = self.found(node, one), self.existing(target, other)
        if flags & EXCHANGE:
            there = self.found(target, other)
            call(libc.renameat2(node.file, source, target.file, there, EXCHANGE))
            return
        if flags & NOREPLACE:
            self.free(target, other)
        os.rename(source, there or other, src_dir_fd=node.file, dst_dir_fd=target.file)
        if there and self.respells:
            os.rename(there, other, src_dir_fd=target.file, dst_dir_fd=target.file)

    def link(self, node, data, *_):
        (source,) = struct.unpack("=Q", data[:8])
        name = text(data[8:])
        self.free(node, name)
        os.link(self.nodes[source].path, name, dst_dir_fd=node.file, follow_symlinks=True)
        return self.entry(node, name)

    def open(self, node, data, *_):
        (flags,) = struct.unpack("=I", data[:4])
        flags &= os.O_ACCMODE | os.O_APPEND | os.O_TRUNC | os.O_NOATIME
        return struct.pack("=QII", os.open(node.path, flags), 0, 0)

    def create(self, node, data, uid, gid):
        flags, mode = struct.unpack("=II", data[:8])
        name = text(data[16:])
        existing = self.existing(node, name)
        if existing is not None and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, "")
        wanted = flags & (os.O_ACCMODE | os.O_APPEND | os.O_TRUNC) | os.O_CREAT | os.O_NOFOLLOW
        file = os.open(existing or name, wanted, stat.S_IMODE(mode), dir_fd=node.file)
        entry = self.entry(node, existing) if existing else self.created(node, name, uid, gid)
        return entry + struct.pack("=QII", file, 0, 0)

    def read(self, _, data, *__):
        handle, offset, size = struct.unpack("=QQI", data[:20])
        return os.pread(handle, size, offset)

    def write(self, _, data, *__):
        handle, offset, size = struct.unpack("=QQI", data[:20])
        return struct.pack("=II", os.pwrite(handle, data[40 : 40 + size], offset), 0)

    def statfs(self, node, *_):
        s = os.statvfs(node.path)
        return struct.pack(
            "=5Q4I6I", s.f_blocks, s.f_bfree, s.f_bavail, s.f_files, s.f_ffree, s.f_bsize, 255, s.f_frsize, *[0] * 7
        )

    def release(self, _, data, *__):
        os.close(struct.unpack("=Q", data[:8])[0])

    def nothing(self, *_):
        pass

    def setxattr(self, node, data, *_):
        size, flags = struct.unpack("=II", data[:8])
        name, _, value = data[8:].partition(b"\0")
        os.setxattr(node.path, name, value[:size], flags)

    def sized(self, value, data):
        (size,) = struct.unpack("=I", data[:4])
        if size == 0:
            return struct.pack("=II", len(value), 0)
        if len(value) > size:
            raise OSError(errno.ERANGE, "")
        return value

    def getxattr(self, node, data, *_):
        return self.sized(os.getxattr(node.path, text(data[8:])), data)

    def listxattr(self, node, data, *_):
        names = map(os.fsencode, os.listxattr(node.path))
        return self.sized(b"".join(name + b"\0" for name in names), data)

    def removexattr(self, node, data, *_):
        os.removexattr(node.path, text(data))

    def opendir(self, *_):
        self.last += 1
        self.listings[self.last] = []
        return struct.pack("=QII", self.last, 0, 0)

    def readdir(self, node, data, *_):
        handle, offset, size = struct.unpack("=QQI", data[:20])
        if offset == 0:
            names = [b".", b"..", *map(os.fsencode, os.listdir(node.path))]
            self.listings[handle] = [(name, os.stat(name, dir_fd=node.file, follow_symlinks=False)) for name in names]
        out = b""
        for at, (name, found) in enumerate(self.listings[handle][offset:], offset + 1):
            record = struct.pack("=QQII", found.st_ino, at, len(name), found.st_mode >> 12) + name
            record += bytes(-len(record) % 8)
            if len(out) + len(record) > size:
                break
            out += record
        return out

    def releasedir(self, _, data, *__):
        del self.listings[struct.unpack("=Q", data[:8])[0]]

    def lseek(self, _, data, *__):
        handle, offset, whence = struct.unpack("=QQI", data[:20])
        return struct.pack("=Q", os.lseek(handle, offset, whence))

    def init(self, _, data, *__):
        _, minor, ahead, flags = struct.unpack("=IIII", data[:16])
        big_writes = 1 << 5
        return struct.pack("=4I2HIIHHI7I", 7, min(minor, 31), ahead, flags & big_writes, 16, 12, 1 << 17, 1, *[0] * 10)


REQUESTS = {
    **{1: "lookup", 3: "getattr", 4: "setattr", 5: "readlink", 6: "symlink", 8: "mknod", 9: "mkdir", 10: "unlink"},
    **{11: "rmdir", 12: "rename", 13: "link", 14: "open", 15: "read", 16: "write", 17: "statfs", 18: "release"},
    **{20: "nothing", 21: "setxattr", 22: "getxattr", 23: "listxattr", 24: "removexattr", 25: "nothing", 26: "init"},
    **{27: "opendir", 28: "readdir", 29: "releasedir", 30: "nothing", 35: "create", 45: "rename2", 46: "lseek"},
}
FORGET, BATCH_FORGET, INTERRUPT, DESTROY = 2, 42, 36, 38


def serve(device, volume):
    while True:
        try:
            request = os.read(device, (1 << 17) + 4096)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT):
                continue
            return  # unmounted
        _, code, unique, number, uid, gid = struct.unpack("=IIQQII", request[:32])
        data = request[40:]
        if code == FORGET:
            volume.forget(number, *struct.unpack("=Q", data[:8]))
            continue
        if code == BATCH_FORGET:
            for pair in struct.iter_unpack("=QQ", data[8:]):
                volume.forget(*pair)
            continue
        if code in (INTERRUPT, DESTROY):
            continue
        error, reply = 0, b""
        try:
            name = REQUESTS.get(code)
            if name is None:
                raise OSError(errno.ENOSYS, "")
            reply = getattr(volume, name)(volume.nodes.get(number), data, uid, gid) or b""
        except OSError as failure:
            error = failure.errno
        try:
            os.write(device, struct.pack("=IiQ", 16 + len(reply), -error, unique) + reply)
        except FileNotFoundError:
            pass  # the caller was interrupted


def main():
    how, backing, directory = sys.argv[1:]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
    call(libc.mount(b"folding", os.fsencode(directory), b"fuse.apfs", 0, options.encode()))
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):
        os.dup2(nowhere, file)
    os.umask(0)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    serve(device, Volume(backing, how))


main()
