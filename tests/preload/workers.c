/* SPDX-License-Identifier: MIT */
/*
 * workers: processes forked from a large parent, each of which works on pictures of ever other sizes.  Says how much memory all workers
 * hold together while they work, in the mean over their pictures.
 */
#include "pictures.h"

#include <sys/mman.h>
#include <sys/wait.h>

enum { WORKERS = 4, OWN_OBJECTS = 20000, EACH = 8, ROUNDS = 6 };

/* The process's proportional share of memory. */
static long
share_kib(void)
{
    char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "\nPss:");
    return line == NULL ? -1 : atol(line + strlen("\nPss:"));
}

static long
work(unsigned number)
{
    uint64_t random = number;
    long sum = 0, looks = 0;
    for (unsigned batch = 0; batch < ROUNDS; batch++) {
        for (unsigned i = 0; i < PICTURES; i++) {
            work_on_picture(i, &random);
            if (i % EACH == 0) {
                sum += share_kib();
                looks++;
            }
        }
        free(stack_pictures());
        drop_pictures();
    }
    return sum / looks;
}

int
main(void)
{
    long *means = mmap(NULL, sizeof(long[WORKERS]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t random = 1;
    for (unsigned i = 0; i < OWN_OBJECTS; i++) { /* live until the end */
        size_t size = 100 + under_test_random(&random) % 5900;
        memset(malloc(size), 1, size);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        if (fork() == 0) {
            means[i] = work(i);
            _exit(means[i] <= 0);
        }
    }
    long all = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        int status;
        if (wait(&status) < 0 || status != 0) {
            printf("a worker ended with status %d\n", status);
            return 1;
        }
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        all += means[i];
    }
    printf("memory %ld KiB\n", all);
    return 0;
}
