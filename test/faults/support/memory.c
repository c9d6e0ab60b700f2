/*
 * Preloaded into a process that copies: lets allocations of the addon fail, which makes them by malloc().
 *
 * MEMORY_FIRST  the first that fails, counted from 1
 * MEMORY_COUNT  how many fail
 * MEMORY_LOG    a file that gets the number of all allocations at the end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);

static atomic_ulong seen;
static atomic_uintptr_t begin, end; /* of the addon in memory */
static unsigned long first, count;

__attribute__((constructor)) static void start(void) {
  const char *text = getenv("MEMORY_FIRST");
  if (text != NULL) first = strtoul(text, NULL, 10);
  text = getenv("MEMORY_COUNT");
  if (text != NULL) count = strtoul(text, NULL, 10);
}

__attribute__((destructor)) static void stop(void) {
  const char *path = getenv("MEMORY_LOG");
  FILE *log = path != NULL ? fopen(path, "w") : NULL;
  if (log == NULL) return;
  fprintf(log, "%lu", atomic_load(&seen));
  fclose(log);
}

static int look(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  (void)data;
  if (strstr(info->dlpi_name, "fastcp.node") == NULL) return 0;
  uintptr_t most = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const uintptr_t last = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && last > most) most = last;
  }
  atomic_store(&end, most);
  atomic_store(&begin, info->dlpi_addr);
  return 1;
}

void *malloc(size_t size) {
  const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
  if (atomic_load(&begin) == 0) dl_iterate_phdr(look, NULL);
  if (caller >= atomic_load(&begin) && caller < atomic_load(&end)) {
    const unsigned long number = atomic_fetch_add(&seen, 1) + 1;
    if (first != 0 && number >= first && number - first < count) {
      errno = ENOMEM;
      return NULL;
    }
  }
  return __libc_malloc(size);
}
