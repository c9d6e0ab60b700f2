/* measure: runs a command and writes what it cost to descriptor 3, as JSON:
 * wall time (ms), CPU time of it and of the children that it waited for (ms), peak memory (KiB), and how
 * it ended. Small on purpose: a child's peak memory is at least that of the program that started it.
 *
 *   cc -O2 -o measure measure.c
 *   measure COMMAND ARGUMENT... 3>costs.json */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static double ms(struct timeval t) { return t.tv_sec * 1e3 + t.tv_usec / 1e3; }

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    fcntl(3, F_SETFD, FD_CLOEXEC);
    double start = now();
    pid_t child = vfork();
    if (child < 0) { perror("measure: vfork"); return 1; }
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);               /* who kills us means the command */
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status;
    struct rusage used;
    if (wait4(child, &status, 0, &used) < 0) { perror("measure: wait4"); return 1; }
    double wall = now() - start;
    dprintf(3, "{\"wallMs\":%.3f,\"userMs\":%.3f,\"systemMs\":%.3f,\"peakKiB\":%ld,\"exit\":%d,\"signal\":%d}\n",
            wall, ms(used.ru_utime), ms(used.ru_stime), used.ru_maxrss,
            WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
}
