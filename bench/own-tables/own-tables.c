/* own-tables: the second measuring stick. It makes the same system calls per file as floor, but its threads share
 * nothing that every file needs:
 *   - each thread has a table of file descriptors of its own (close_range with CLOSE_RANGE_UNSHARE, Linux 5.9), so that
 *     no thread waits for another one's table, and the kernel counts no uses of files;
 *   - each thread keeps open directories of its own. One that another thread has opened is opened again by name, from the
 *     nearest ancestor that is open here, and must be the same directory;
 *   - each thread has a list of tasks, the newest first. A thread without a task takes another one's oldest;
 *   - a listing is shared out only while a thread has nothing to do, and only if more than BYTES of it are left.
 *
 *   cc -O2 -pthread -o own-tables own-tables.c
 *   own-tables [-t THREADS] [-s] [-p] [-m BYTES] [-f] [-e] SRC DST      DST must not exist
 *
 * -s: one table for all threads. -p: never shares a listing. -f: the oldest of its own tasks first. -e: creates subdirectories
 * while it lists their parent. With STATS in the environment it prints how many tasks were taken from others, and how many
 * directories were opened again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LISTING = 32 << 10, MOST_OPEN = 64, MOST_THREADS = 256, PATIENCE = 1000000 /* ns */ };

struct entry { ino64_t ino; off64_t next; unsigned short size; unsigned char type; char name[]; };

/* A directory of SRC and its copy. Which descriptors they have is each thread's own affair. */
struct directory {
    struct directory *parent;
    atomic_int uses;                                    /* by its task, parts of its listing, and directories in it */
    int is_made;
    ino_t src, dst;                                     /* of the first look */
    char name[];
};

struct task { struct task *older, *newer; struct directory *directory; char *part; long bytes; };

struct ends { struct directory *directory; int src, dst; unsigned long used; };

struct worker {
    pthread_mutex_t lock;                               /* guards newest and oldest */
    struct task *newest, *oldest;
    struct ends open[MOST_OPEN];
    unsigned long clock;
    unsigned seed;
    char *listing;
    long stolen, reopened;
} __attribute__((aligned(128)));

static struct worker *workers;
static int threads = 2, one_table, oldest_first, early, whole_listings;
static long share_above = 2048;
static const char *source, *target;
static atomic_long unfinished;
static atomic_int idle;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void die(const char *what, const char *name) {
    fprintf(stderr, "own-tables: %s %s: %s\n", what, name, strerror(errno));
    exit(1);
}

static void wake(int all) {
    pthread_mutex_lock(&idle_lock);
    if (all) pthread_cond_broadcast(&changed); else pthread_cond_signal(&changed);
    pthread_mutex_unlock(&idle_lock);
}

static void push(struct worker *w, struct directory *directory, const char *part, long bytes) {
    struct task *t = malloc(sizeof *t);
    *t = (struct task){.directory = directory, .bytes = bytes};
    if (part) t->part = memcpy(malloc(bytes), part, bytes);
    unfinished++;
    pthread_mutex_lock(&w->lock);
    t->older = w->newest;
    if (w->newest) w->newest->newer = t; else w->oldest = t;
    w->newest = t;
    pthread_mutex_unlock(&w->lock);
    if (idle) wake(0);
}

static struct task *take(struct worker *w, int oldest) {
    if (!w->newest) return NULL;
    pthread_mutex_lock(&w->lock);
    struct task *t = oldest ? w->oldest : w->newest;
    if (t) {
        if (t->older) t->older->newer = t->newer; else w->oldest = t->newer;
        if (t->newer) t->newer->older = t->older; else w->newest = t->older;
    }
    pthread_mutex_unlock(&w->lock);
    return t;
}

static int open_directory(int at, const char *name) {
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) die("open", name);
    return fd;
}

static ino_t inode(int fd) {
    struct stat st;
    return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Takes the place of the directory that was not used for longest. */
static struct ends *keep(struct worker *w, struct directory *directory, int src, int dst) {
    struct ends *place = w->open;
    for (struct ends *one = w->open; one < w->open + MOST_OPEN; one++) {
        if (one->used < place->used) place = one;
    }
    if (place->directory) { close(place->src); close(place->dst); }
    *place = (struct ends){directory, src, dst, ++w->clock};
    return place;
}

static struct ends *find(struct worker *w, struct directory *directory) {
    for (struct ends *one = w->open; one < w->open + MOST_OPEN; one++) {
        if (one->directory == directory) { one->used = ++w->clock; return one; }
    }
    return NULL;
}

static struct ends *ends_of(struct worker *w, struct directory *directory);

/* Returns what the names of a directory are relative to. */
static void above(struct worker *w, struct directory *directory, int at[2], const char *names[2]) {
    struct ends *parent = directory->parent ? ends_of(w, directory->parent) : NULL;
    at[0] = parent ? parent->src : AT_FDCWD;
    at[1] = parent ? parent->dst : AT_FDCWD;
    names[0] = parent ? directory->name : source;
    names[1] = parent ? directory->name : target;
}

static struct ends *ends_of(struct worker *w, struct directory *directory) {
    struct ends *found = find(w, directory);
    if (found) return found;
    int at[2];
    const char *names[2];
    above(w, directory, at, names);
    int src = open_directory(at[0], names[0]), dst = open_directory(at[1], names[1]);
    errno = ESTALE;
    if (inode(src) != directory->src || inode(dst) != directory->dst) die("open again", names[0]);
    w->reopened++;
    return keep(w, directory, src, dst);
}

static void end_use(struct worker *w, struct directory *directory) {
    for (; directory && --directory->uses == 0; directory = directory->parent) {   /* not freed: others may have it open */
        struct ends *found = find(w, directory);
        if (!found) continue;
        close(found->src); close(found->dst);
        *found = (struct ends){0};
    }
}

static void copy_file(const struct ends *in, const char *name) {
    int src = openat(in->src, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME);
    if (src < 0 && errno == EPERM) src = openat(in->src, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (src < 0 || fstat(src, &st)) die("open", name);
    int dst = openat(in->dst, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 07777);
    if (dst < 0) die("create", name);
    for (off_t left = st.st_size; left > 0;) {
        ssize_t n = syscall(SYS_copy_file_range, src, NULL, dst, NULL, left < (1 << 30) ? left : 1 << 30, 0);
        if (n < 0) die("copy", name);
        if (n == 0) break;
        left -= n;
    }
    close(src); close(dst);
}

static void copy_symlink(const struct ends *in, const char *name) {
    char text[4097];
    ssize_t n = readlinkat(in->src, name, text, sizeof text - 1);
    if (n < 0) die("readlink", name);
    text[n] = 0;
    if (symlinkat(text, in->dst, name)) die("symlink", name);
}

static void make_directory(const int at[2], const char *src, const char *dst) {
    struct stat st;
    if (fstatat(at[0], src, &st, AT_SYMLINK_NOFOLLOW)) die("stat", src);
    if (mkdirat(at[1], dst, (st.st_mode & 07777) | 0700)) die("mkdir", dst);
}

static void copy_subdirectory(struct worker *w, struct directory *parent, const char *name) {
    struct directory *made = calloc(1, sizeof *made + strlen(name) + 1);
    made->parent = parent;
    made->uses = 1;
    strcpy(made->name, name);
    parent->uses++;
    if (early) {
        struct ends *in = ends_of(w, parent);
        make_directory((int[]){in->src, in->dst}, name, name);
        made->is_made = 1;
    }
    push(w, made, NULL, 0);
}

static int shares(struct worker *w, long left) { return !whole_listings && left > share_above && !w->newest && idle; }

static void copy_entries(struct worker *w, struct directory *directory, char *listed, long bytes) {
    struct ends *in = ends_of(w, directory);
    for (long at = 0; at < bytes;) {
        if (shares(w, bytes - at)) {
            long middle = at;
            while (middle - at < (bytes - at) / 2) middle += ((struct entry *)(listed + middle))->size;
            directory->uses++;
            push(w, directory, listed + middle, bytes - middle);
            bytes = middle;
        }
        struct entry *e = (struct entry *)(listed + at);
        at += e->size;
        if (!strcmp(e->name, ".") || !strcmp(e->name, "..")) continue;
        if (e->type == DT_DIR) copy_subdirectory(w, directory, e->name);
        else if (e->type == DT_LNK) copy_symlink(in, e->name);
        else copy_file(in, e->name);
    }
}

static void copy_directory(struct worker *w, struct directory *directory) {
    int at[2];
    const char *names[2];
    above(w, directory, at, names);
    if (!directory->is_made) make_directory(at, names[0], names[1]);
    int src = open_directory(at[0], names[0]), dst = open_directory(at[1], names[1]);
    directory->src = inode(src);
    directory->dst = inode(dst);
    keep(w, directory, src, dst);
    for (;;) {
        long bytes = syscall(SYS_getdents64, ends_of(w, directory)->src, w->listing, LISTING);
        if (bytes < 0) die("list", names[0]);
        if (bytes == 0) return;
        copy_entries(w, directory, w->listing, bytes);
    }
}

static void wait_for_tasks(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE;
    if (until.tv_nsec >= 1000000000) { until.tv_nsec -= 1000000000; until.tv_sec++; }
    idle++;
    pthread_mutex_lock(&idle_lock);
    int any = 0;
    for (int i = 0; i < threads; i++) any |= workers[i].newest != NULL;
    if (!any && unfinished) pthread_cond_timedwait(&changed, &idle_lock, &until);
    pthread_mutex_unlock(&idle_lock);
    idle--;
}

static void *work(void *given) {
    struct worker *w = given;
    w->listing = malloc(LISTING);
    if (!one_table && syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_UNSHARE)) die("close_range", "");
    for (;;) {
        struct task *t = take(w, oldest_first);
        for (int i = 0, first = rand_r(&w->seed) % threads; !t && i < threads; i++) {
            struct worker *other = &workers[(first + i) % threads];
            if (other != w && (t = take(other, 1))) w->stolen++;
        }
        if (!t && !unfinished) return NULL;
        if (!t) { wait_for_tasks(); continue; }
        if (t->part) copy_entries(w, t->directory, t->part, t->bytes); else copy_directory(w, t->directory);
        end_use(w, t->directory);
        free(t->part);
        free(t);
        if (--unfinished == 0) wake(1);
    }
}

int main(int argc, char **argv) {
    for (int option; (option = getopt(argc, argv, "t:spm:fe")) > 0;) {
        if (option == 't') threads = atoi(optarg);
        else if (option == 's') one_table = 1;
        else if (option == 'p') whole_listings = 1;
        else if (option == 'm') share_above = atol(optarg);
        else if (option == 'f') oldest_first = 1;
        else if (option == 'e') early = 1;
        else return 2;
    }
    if (argc - optind != 2 || threads < 1 || threads > MOST_THREADS) return 2;
    source = argv[optind];
    target = argv[optind + 1];
    umask(0);
    workers = aligned_alloc(128, sizeof *workers * threads);
    memset(workers, 0, sizeof *workers * threads);
    for (int i = 0; i < threads; i++) pthread_mutex_init(&workers[i].lock, NULL);
    struct directory *root = calloc(1, sizeof *root + 1);
    root->uses = 1;
    push(&workers[0], root, NULL, 0);
    pthread_t started[MOST_THREADS];
    for (int i = 0; i < threads; i++) { workers[i].seed = i + 1; pthread_create(&started[i], NULL, work, &workers[i]); }
    long stolen = 0, reopened = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(started[i], NULL);
        stolen += workers[i].stolen;
        reopened += workers[i].reopened;
    }
    if (getenv("STATS")) fprintf(stderr, "%ld taken from others, %ld opened again\n", stolen, reopened);
    return 0;
}
