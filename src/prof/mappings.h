/* SPDX-License-Identifier: MIT */
/*
 * mappings: the executable parts of the address space, with what tells a reader which file they came from.
 *
 * Promises  read from /proc/self/maps by system calls, or from the loader where there is no /proc (after chroot()); build ids
 *           from memory, with reads that cannot fault.  Files that sampled stacks ran through and that were closed since are
 *           among them (modules.h).
 * Owned by the caller, who gives the memory.
 */
#ifndef HEW_PROF_MAPPINGS_H
#define HEW_PROF_MAPPINGS_H

#include "base/compiler.h"

#define HEW_MAPPING_PATH 1024
#define HEW_BUILD_ID 32 /* bytes; the usual SHA-1 has 20 */

struct hew_mapping {
    uintptr_t begin, end;
    uint64_t offset; /* in the file */
    bool closed;     /* by dlclose(): it was there when a stack was sampled */
    unsigned build_id_bytes;
    uint8_t build_id[HEW_BUILD_ID];
    char path[HEW_MAPPING_PATH]; /* "" for memory that no file lies behind */
};

/* Calls `visit` with each, lowest first; it is overwritten afterwards. */
void hew_mappings_each(void (*visit)(const struct hew_mapping *mapping, void *context), void *context);

/* The same by the loader alone, as it is done where there is no /proc. */
void hew_mappings_of_loader(void (*visit)(const struct hew_mapping *mapping, void *context), void *context);

/* One line of /proc/self/maps, without its end.  False when it is not executable, or no such line. */
bool hew_mappings_parse(const char *line, size_t length, struct hew_mapping *mapping);

#endif
