/* SPDX-License-Identifier: MIT */
/*
 * describe: reports what is known about an address, for fatal messages.  Takes no lock: for memory that other threads
 * are changing, the report is a snapshot.
 */
#ifndef HEW_SLAB_DESCRIBE_H
#define HEW_SLAB_DESCRIBE_H

#include "os/fatal.h"
#include "slab/slab.h"

/* Each is a hew_misuse(): it ends the process, unless a hook lets it continue.  The caller then leaves the object
 * alone. */

/* Reports a bad pointer given to `function`, and finds out which kind of bad it is. */
void hew_describe_bad_pointer(const char *function, uintptr_t address);

/* Reports an object that is freed twice. */
void hew_describe_double_free(const char *function, uintptr_t address);

/* Reports a use after free by a function other than free. */
void hew_describe_free(const char *function, uintptr_t address);

/* The same, for callers that cannot just leave the object alone: the process ends, whatever a hook does. */
_Noreturn void hew_describe_and_end(const char *function, uintptr_t address);
_Noreturn void hew_describe_twice_and_end(const char *function, uintptr_t address);
_Noreturn void hew_describe_free_and_end(const char *function, uintptr_t address);

#endif
