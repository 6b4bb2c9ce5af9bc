/* SPDX-License-Identifier: MIT */
#include "os/cpus.h"

#include "base/text.h"
#include "os/file.h"
#include "os/syscall.h"
#include "os/vdso.h"

#include <string.h>

#define CGROUPS "/sys/fs/cgroup"
#define PATH_BYTES 512
#define NUMBERS_BYTES 64 /* two numbers as text */

/* With at most this many CPUs only the container's quota is read.  The cgroup of a service can be anywhere: finding it
 * takes 25 us at each process start, which pays off only where it saves hundreds of arenas. */
#define FEW_CPUS 16

/* 0: the system has more CPUs than the mask has bits. */
static HEW_NOINLINE unsigned
count_cpus(unsigned long *mask, size_t size)
{
    long bytes = hew_syscall3(SYS_sched_getaffinity, 0, size, mask);
    unsigned count = 0;
    for (long word = 0; word < bytes / (long)sizeof *mask; word++) {
        for (unsigned long bits = mask[word]; bits != 0; bits &= bits - 1) {
            count++;
        }
    }
    return count;
}

static HEW_NOINLINE unsigned
many_cpus(void)
{
    unsigned long mask[8192 / (8 * sizeof(unsigned long))]; /* the most CPUs that Linux supports */
    unsigned count = count_cpus(mask, sizeof mask);
    return count == 0 ? 1 : count;
}

static unsigned
affinity_cpus(void)
{
    /* A small mask, because every process pays for the stack pages that it touches. */
    unsigned long mask[1024 / (8 * sizeof(unsigned long))];
    unsigned count = count_cpus(mask, sizeof mask);
    return count == 0 ? many_cpus() : count;
}

static const char *
parse_number(const char *text, uint64_t *value)
{
    *value = 0;
    while (*text >= '0' && *text <= '9') {
        *value = *value * 10 + (uint64_t)(*text++ - '0');
    }
    return text;
}

unsigned
hew_cpus_parse_quota(const char *text)
{
    uint64_t quota, period;
    const char *rest = parse_number(text, &quota);
    if (rest == text || *rest != ' ') {
        return 0;
    }
    parse_number(rest + 1, &period);
    return quota == 0 || period == 0 ? 0 : (unsigned)((quota + period - 1) / period);
}

/* Returns the quota of a version 2 group from its file, or of a version 1 group from its two files; 0: there is
 * none. */
static HEW_NOINLINE unsigned
quota_in(const char *path, const char *period)
{
    char content[2 * NUMBERS_BYTES];
    if (!hew_file_read(path, content, NUMBERS_BYTES) || content[0] == '-') { /* version 1's -1: no quota */
        return 0;
    }
    if (period != NULL) {
        unsigned end = 0;
        while (content[end] > ' ') {
            end++;
        }
        content[end] = ' ';
        hew_file_read(period, content + end + 1, NUMBERS_BYTES);
    }
    return hew_cpus_parse_quota(content);
}

/* Returns the quota of the group whose files are at the root of the mount, as in a container. */
static unsigned
quota_of_container(void)
{
    unsigned quota = quota_in(CGROUPS "/cpu.max", NULL);
    return quota != 0 ? quota : quota_in(CGROUPS "/cpu/cpu.cfs_quota_us", CGROUPS "/cpu/cpu.cfs_period_us");
}

/* 0 means none. */
static unsigned
lesser(unsigned one, unsigned other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

/* Returns the smallest quota of the version 2 group in `group` and of every group above it; 0: there is none. */
static unsigned
least_quota(char *group)
{
    unsigned least = 0;
    for (char *slash; (slash = strrchr(group, '/')) != NULL; *slash = '\0') {
        char path[PATH_BYTES + 64];
        struct hew_text text;
        hew_text_begin(&text, path, sizeof path);
        hew_text_put(&text, CGROUPS);
        hew_text_put(&text, group);
        hew_text_put(&text, "/cpu.max");
        least = lesser(least, quota_in(path, NULL));
    }
    return least;
}

/* Returns the quota of the process's own version 2 group. */
static HEW_NOINLINE unsigned
quota_of_group(void)
{
    char group[PATH_BYTES];
    if (!hew_file_read("/proc/self/cgroup", group, sizeof group)) {
        return 0;
    }
    char *unified = strncmp(group, "0::", 3) == 0 ? group : strstr(group, "\n0::");
    char *path = unified == NULL ? NULL : strchr(unified, '/');
    if (path == NULL) {
        return 0;
    }
    path[strcspn(path, "\n")] = '\0';
    return least_quota(path);
}

unsigned
hew_cpus_usable(void)
{
    unsigned cpus = affinity_cpus();
    unsigned group = cpus > FEW_CPUS ? quota_of_group() : 0, container = cpus > 1 ? quota_of_container() : 0;
    return lesser(cpus, lesser(group, container));
}

/* glibc 2.35 and newer has the kernel keep the thread's current CPU in this area.  The offset is relative to the thread
 * pointer. */
extern HEW_WEAK const ptrdiff_t __rseq_offset;
extern HEW_WEAK const unsigned __rseq_size; /* 0: not registered */
#define RSEQ_CPU_ID 4                       /* in struct rseq; below 0 if unknown */

unsigned
hew_cpus_current(void)
{
    if (HEW_LIKELY(&__rseq_size != NULL && __rseq_size != 0)) {
        const char *area = (const char *)hew_cpu_thread_pointer() + __rseq_offset;
        int cpu = *(const volatile int *)(area + RSEQ_CPU_ID);
        if (HEW_LIKELY(cpu >= 0)) {
            return (unsigned)cpu;
        }
    }
    return hew_vdso_processor();
}
