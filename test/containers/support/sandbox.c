/*
 * Runs a command as a container would: `sandbox ERRNO CALL,CALL COMMAND...` has the calls fail with the errno.
 * Exits with 3 where they do not.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char *name;
  int number;
} calls[] = {
    {"io_uring_setup", SYS_io_uring_setup}, {"io_uring_enter", SYS_io_uring_enter},
    {"io_uring_register", SYS_io_uring_register}, {"unshare", SYS_unshare},
    {"copy_file_range", SYS_copy_file_range}, {"statx", SYS_statx},
    {"renameat2", SYS_renameat2}, {"linkat", SYS_linkat},
    {"close_range", 436 /* older headers have no name for it */},
};

static int number_of(const char *name) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strcmp(calls[i].name, name) == 0) return calls[i].number;
  }
  fprintf(stderr, "unknown call %s\n", name);
  exit(2);
}

int main(int count, char **words) {
  if (count < 4) return 2;
  const int error = atoi(words[1]);
  struct sock_filter filter[64] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
  };
  unsigned short used = 1;
  int numbers[16], forbidden = 0;
  for (char *name = strtok(words[2], ","); name != NULL && forbidden < 16; name = strtok(NULL, ",")) {
    const int number = numbers[forbidden++] = number_of(name);
    filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
  }
  filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {.len = used, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 3;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 3;
  for (int i = 0; i < forbidden; i++) {
    if (syscall(numbers[i], -1, 0, 0, 0, 0, 0) != -1 || errno != error) return 3;
  }
  execvp(words[3], words + 3);
  return 127;
}
