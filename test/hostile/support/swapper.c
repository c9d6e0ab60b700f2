/*
 * Changes a tree without rest until it is sent SIGTERM, then prints how many changes it made.
 *
 *   swapper TREE SPARE OUTSIDE SEED
 *
 * TREE holds directories d0 … d39 with files f0 … f29 and a directory n of the same; SPARE is where what is swapped
 * waits; OUTSIDE is what links lead to.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static void stop(int signal) { stopped = signal; }

static uint64_t state;
static unsigned below(unsigned limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % limit;
}

static int tree, spare;
static const char *outside;

/* Of a directory, or one in it: opened without following any link, as this must not change OUTSIDE itself. */
struct place {
  int in;
  char name[32];
};

static int open_in(const char *path) {
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
  return (int)syscall(SYS_openat2, tree, path, &how, sizeof how);
}

static int find_directory(struct place *out) {
  char path[32];
  const unsigned number = below(40);
  if (below(3) != 0) {
    out->in = dup(tree);
    snprintf(out->name, sizeof out->name, "d%u", number);
  } else {
    snprintf(path, sizeof path, "d%u", number);
    out->in = open_in(path);
    strcpy(out->name, "n");
  }
  return out->in;
}

static int find_file(struct place *out) {
  char path[32];
  snprintf(path, sizeof path, below(3) == 0 ? "d%u/n" : "d%u", below(40));
  out->in = open_in(path);
  snprintf(out->name, sizeof out->name, "f%u", below(30));
  return out->in;
}

/* Puts a link in the place of something, and back again. */
static int swap_for_link(const struct place *at, const char *target) {
  unlinkat(spare, "link", 0);
  if (symlinkat(target, spare, "link") != 0) {
    /* What came away last time is a directory. */
    char name[32];
    snprintf(name, sizeof name, "old %u", below(1000));
    if (renameat(spare, "link", spare, name) != 0) return -1;
    if (symlinkat(target, spare, "link") != 0) return -1;
  }
  if (renameat2(at->in, at->name, spare, "link", RENAME_EXCHANGE) != 0) return -1;
  for (volatile unsigned spin = below(20000); spin > 0; spin--) continue;
  if (below(16) == 0) return 0; /* it stays, and what was there is in SPARE */
  return renameat2(at->in, at->name, spare, "link", RENAME_EXCHANGE);
}

static int write_to(const struct place *at, int flags, size_t size) {
  static char bytes[300000];
  const int fd = openat(at->in, at->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0644);
  if (fd < 0) return -1;
  memset(bytes, 'a' + (int)below(26), size);
  const ssize_t written = write(fd, bytes, size);
  close(fd);
  return written < 0 ? -1 : 0;
}

static int change_mode(const struct place *at) {
  const int fd = openat(at->in, at->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  const int result = fchmod(fd, (mode_t)below(0777));
  close(fd);
  return result;
}

static int change_file(const struct place *at, unsigned how) {
  char target[1100];
  struct place other;
  int result;
  switch (how) {
    case 0:
    case 1: snprintf(target, sizeof target, "%s/f%u", outside, below(30)); return swap_for_link(at, target);
    case 2:
      if (find_file(&other) < 0) return -1;
      result = renameat(at->in, at->name, other.in, other.name);
      close(other.in);
      return result;
    case 3: return unlinkat(at->in, at->name, 0);
    case 4: return write_to(at, O_TRUNC, below(5000));
    case 5: return write_to(at, O_APPEND, below(300000));
    case 6: return write_to(at, O_CREAT, below(20000));
    case 7:
      unlinkat(at->in, at->name, 0);
      return mkfifoat(at->in, at->name, 0600);
    case 8:
      unlinkat(at->in, at->name, 0);
      return mkdirat(at->in, at->name, 0700);
    case 9: return unlinkat(at->in, at->name, AT_REMOVEDIR);
    default: return change_mode(at);
  }
}

static int change_directory(const struct place *at, unsigned how) {
  struct place other;
  int result;
  switch (how) {
    case 0: return mkdirat(at->in, at->name, 0755);
    case 1:
      if (find_directory(&other) < 0) return -1;
      result = renameat2(at->in, at->name, other.in, other.name, below(2) ? RENAME_EXCHANGE : 0);
      close(other.in);
      return result;
    default: return swap_for_link(at, outside);
  }
}

static int change(void) {
  struct place at;
  const int of_directory = below(3) == 0;
  if ((of_directory ? find_directory(&at) : find_file(&at)) < 0) return -1;
  const int result = of_directory ? change_directory(&at, below(5)) : change_file(&at, below(11));
  close(at.in);
  return result;
}

/* Makes a directory and what is in it what they were, as far as that is possible. */
static void restore(unsigned number) {
  static const char *const paths[] = {"d%u", "d%u/n"};
  char path[32], name[32];
  for (unsigned i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "d%u", number);
    int in = i == 0 ? dup(tree) : open_in(path);
    if (in < 0) return;
    const char *last = i == 0 ? path : "n";
    unlinkat(in, last, 0);
    mkdirat(in, last, 0755);
    close(in);
    snprintf(path, sizeof path, paths[i], number);
    in = open_in(path);
    if (in < 0) return;
    for (unsigned f = 0; f < 30; f++) {
      snprintf(name, sizeof name, "f%u", f);
      struct stat found;
      if (fstatat(in, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(found.st_mode)) {
        unlinkat(in, name, S_ISDIR(found.st_mode) ? AT_REMOVEDIR : 0);
      }
      struct place at = {.in = in};
      strcpy(at.name, name);
      write_to(&at, O_CREAT, 1000);
    }
    close(in);
  }
}

int main(int count, char **words) {
  if (count != 5) return 2;
  tree = open(words[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
  spare = open(words[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
  outside = words[3];
  if (tree < 0 || spare < 0) return 2;
  state = strtoull(words[4], NULL, 10) * 2654435761u + 88172645463325252u;
  signal(SIGTERM, stop);
  puts("ready");
  fflush(stdout);
  unsigned long rounds = 0;
  for (unsigned long tried = 0; !stopped; tried++) {
    rounds += change() == 0;
    if (tried % 32 == 0) restore((unsigned)(tried / 32) % 40);
  }
  printf("%lu\n", rounds);
  return 0;
}
