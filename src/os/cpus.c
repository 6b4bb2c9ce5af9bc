/* SPDX-License-Identifier: MIT */
#include "os/cpus.h"

#include "base/text.h"
#include "os/file.h"
#include "os/syscall.h"

#include <sched.h>
#include <string.h>

#define PATH_BYTES 512

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

unsigned
hew_cpus_parse_quota(const char *text)
{
    uint64_t quota, period;
    const char *rest = parse_number(text, &quota);
    if (rest == text || *rest != ' ') {
        return 0;
    }
    parse_number(rest + 1, &period);
    if (quota == 0 || period == 0) {
        return 0;
    }
    return (unsigned)((quota + period - 1) / period);
}

/* The least quota of the version 2 group named in `group` and of every group above it; 0 when there is none. */
static unsigned
quota_v2(char *group)
{
    unsigned least = 0;
    for (;;) {
        char path[PATH_BYTES + 64], content[64];
        struct hew_text text;
        hew_text_begin(&text, path, sizeof path);
        hew_text_put(&text, "/sys/fs/cgroup");
        hew_text_put(&text, group);
        hew_text_put(&text, "/cpu.max");
        unsigned quota = hew_file_read(path, content, sizeof content) ? hew_cpus_parse_quota(content) : 0;
        if (quota != 0 && (least == 0 || quota < least)) {
            least = quota;
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL || group[0] == '\0') {
            return least;
        }
        *slash = '\0';
    }
}

static unsigned
quota_v1(void)
{
    char both[128];
    size_t length;
    if (!hew_file_read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", both, 32)) {
        return 0;
    }
    length = strcspn(both, "\n");
    both[length++] = ' ';
    return hew_file_read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", both + length, 32) ? hew_cpus_parse_quota(both) : 0;
}

unsigned
hew_cpus_usable(void)
{
    unsigned cpus = affinity_cpus();
    char group[PATH_BYTES];
    unsigned quota = 0;
    if (hew_file_read("/proc/self/cgroup", group, sizeof group)) {
        char *unified = strncmp(group, "0::", 3) == 0 ? group : strstr(group, "\n0::");
        if (unified != NULL) {
            char *path = strchr(unified, '/');
            if (path != NULL) {
                path[strcspn(path, "\n")] = '\0';
                quota = quota_v2(strcmp(path, "/") == 0 ? path + 1 : path);
            }
        }
    }
    if (quota == 0) {
        quota = quota_v1();
    }
    return quota != 0 && quota < cpus ? quota : cpus;
}

unsigned
hew_cpus_current(void)
{
    int cpu = sched_getcpu(); /* libc reads it from memory that the kernel keeps up to date */
    return cpu < 0 ? 0 : (unsigned)cpu;
}
