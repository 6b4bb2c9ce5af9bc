/* SPDX-License-Identifier: MIT */
/*
 * mappings: the executable parts of the address space, and the files they were mapped from.
 *
 * Promises  reads /proc/self/maps by system calls, or asks the loader where there is no /proc (after chroot()).  Build
 *           ids are read from memory, with reads that cannot fault.  Files that sampled stacks ran through and that
 *           were closed since are included (modules.h).
 * Owned by the caller, which provides the memory.
 */
#ifndef HEW_PROF_MAPPINGS_H
#define HEW_PROF_MAPPINGS_H

#include "base/compiler.h"

#define HEW_MAPPING_PATH 1024
#define HEW_BUILD_ID 32 /* bytes; the usual SHA-1 has 20 */

struct hew_mapping {
    uintptr_t begin, end;
    uint64_t offset; /* in the file */
    bool closed;     /* by dlclose(): it was mapped when a stack was sampled */
    unsigned build_id_bytes;
    uint8_t build_id[HEW_BUILD_ID];
    char path[HEW_MAPPING_PATH]; /* "" for memory without a file */
};

/* Calls `visit` for each mapping in address order; the mapping is overwritten afterwards. */
void hew_mappings_each(void (*visit)(const struct hew_mapping *mapping, void *context), void *context);

/* Asks only the loader, as is done where there is no /proc. */
void hew_mappings_of_loader(void (*visit)(const struct hew_mapping *mapping, void *context), void *context);

/* Parses one line of /proc/self/maps, without its newline.  False when it is invalid or not executable. */
bool hew_mappings_parse(const char *line, size_t length, struct hew_mapping *mapping);

#endif
