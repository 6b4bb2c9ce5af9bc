// SPDX-License-Identifier: MIT
/* Memory that the allocator returned, made resident again by the kernel as huge pages: what khugepaged does in minutes,
 * asked for at once (MADV_COLLAPSE, Linux 6.1).
 *
 *     refill COUNT KEEP
 *
 * Allocates COUNT objects of 16 KiB, frees all but every KEEP-th, has what lies between them made huge, prints the
 * allocator's statistics to standard error, writes "ready", and waits to be killed.  Exits with 77 where the kernel cannot. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE ((uintptr_t)2 << 20)
#define COLLAPSE 25

extern void malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *letters)
    __attribute__((weak));

int
main(int count, char **words)
{
    size_t amount = count > 2 ? strtoul(words[1], NULL, 10) : 0, keep = count > 2 ? strtoul(words[2], NULL, 10) : 1;
    char **objects = calloc(amount + 1, sizeof *objects);
    uintptr_t low = UINTPTR_MAX, high = 0;
    int done = 0;

    for (size_t i = 0; i < amount; i++) {
        objects[i] = malloc(16384);
        memset(objects[i], 1, 16384);
        low = (uintptr_t)objects[i] < low ? (uintptr_t)objects[i] : low;
        high = (uintptr_t)objects[i] > high ? (uintptr_t)objects[i] : high;
    }
    for (size_t i = 0; i < amount; i++)
        if (i % keep != 0)
            free(objects[i]);
    for (uintptr_t at = (low + HUGE - 1) & ~(HUGE - 1); keep > 1 && at + HUGE <= high; at += HUGE)
        done += madvise((void *)at, HUGE, COLLAPSE) == 0;
    if (keep > 1 && done == 0)
        return 77;
    if (malloc_stats_print != NULL)
        malloc_stats_print(NULL, NULL, "J");
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 1;
    for (;;)
        pause();
}
