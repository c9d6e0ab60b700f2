/* measure: runs a command and writes its cost to file descriptor 3, as JSON: wall time (ms), user and system
 * time of the process and of the children that it waited for (ms), peak memory (KiB), exit code and signal.
 *
 * Nothing at hand is as exact. process.resourceUsage() is Node's own usage, without children. GNU time
 * rounds to 10 ms, and `cp` of a hundred files takes 4. Linux counts the memory of the process that forked
 * as the child's until exec, in ru_maxrss too: under wait4() of Python `cp --version` has a peak of 13 MiB,
 * here of 2. So this program has to be small.
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
        prctl(PR_SET_PDEATHSIG, SIGKILL);               /* killing this program kills the command */
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
