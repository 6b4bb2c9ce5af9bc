/* SPDX-License-Identifier: MIT */
#include "os/cpus.h"

#include "base/text.h"
#include "os/file.h"
#include "os/syscall.h"

#include <sched.h>
#include <string.h>

#define CGROUPS "/sys/fs/cgroup"
#define PATH_BYTES 512

/* Where no more CPUs are usable, only a container's quota is looked for: the group of a service lies anywhere, and finding it takes
 * 25 us of each process's start, which is worth it where it saves hundreds of arenas. */
#define FEW_CPUS 16

static unsigned
affinity_cpus(void)
{
    unsigned long mask[8192 / (8 * sizeof(unsigned long))]; /* the most CPUs that Linux is built for */
    long bytes = hew_syscall3(SYS_sched_getaffinity, 0, sizeof mask, mask);
    unsigned count = 0;
    for (long word = 0; word < bytes / (long)sizeof(unsigned long); word++) {
        for (unsigned long bits = mask[word]; bits != 0; bits &= bits - 1) {
            count++;
        }
    }
    return count == 0 ? 1 : count;
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

static unsigned
whole_cpus(uint64_t quota, uint64_t period)
{
    return quota == 0 || period == 0 ? 0 : (unsigned)((quota + period - 1) / period);
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
    return whole_cpus(quota, period);
}

/* Of the version 2 group that the file is of; 0 when there is none. */
static unsigned
quota_in(const char *path)
{
    char content[64];
    return hew_file_read(path, content, sizeof content) ? hew_cpus_parse_quota(content) : 0;
}

static uint64_t
number_in(const char *path)
{
    char content[32];
    uint64_t number = 0;
    if (hew_file_read(path, content, sizeof content)) {
        parse_number(content, &number); /* "-1" is 0: none */
    }
    return number;
}

/* As it is in a container: of the group whose files are at the root of what is mounted. */
static unsigned
quota_of_container(void)
{
    unsigned quota = quota_in(CGROUPS "/cpu.max");
    if (quota != 0) {
        return quota;
    }
    uint64_t time = number_in(CGROUPS "/cpu/cpu.cfs_quota_us");
    return time == 0 ? 0 : whole_cpus(time, number_in(CGROUPS "/cpu/cpu.cfs_period_us"));
}

/* 0 is none. */
static unsigned
lesser(unsigned one, unsigned other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

/* The least quota of the version 2 group named in `group` and of every group above it; 0 when there is none. */
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
        least = lesser(least, quota_in(path));
    }
    return least;
}

/* Of the process's own version 2 group. */
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

unsigned
hew_cpus_current(void)
{
    int cpu = sched_getcpu(); /* libc reads it from memory that the kernel keeps up to date */
    return cpu < 0 ? 0 : (unsigned)cpu;
}
