/* SPDX-License-Identifier: MIT */
/* mapping: what the kernel says of one of this process's mappings. */
#ifndef HEW_TESTS_MAPPING_H
#define HEW_TESTS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of address space that this process has mapped. */
static inline size_t
mapping_all(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        if (fscanf(file, "%lu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The letters after "VmFlags:" of the mapping that holds `address`. */
static inline bool
mapping_has_flag(const void *address, const char *flag)
{
    char line[512];
    bool here = false, found = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long low, high;
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2) {
            here = low <= (uintptr_t)address && (uintptr_t)address < high;
        } else if (here && strncmp(line, "VmFlags:", 8) == 0) {
            found = strstr(line, flag) != NULL;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

#endif
