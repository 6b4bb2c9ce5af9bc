/* SPDX-License-Identifier: MIT */
/*
 * describe: what is known about an address, in words, for fatal messages.  Takes no lock: what it says about memory
 * that other threads are changing is a snapshot.
 */
#ifndef HEW_SLAB_DESCRIBE_H
#define HEW_SLAB_DESCRIBE_H

#include "os/fatal.h"
#include "slab/slab.h"

/* Each is a hew_misuse(): it ends the process, unless a hook lets it go on.  The caller then leaves the object alone. */

/* A bad pointer was given to `function`: finds out which kind of bad it is. */
void hew_describe_bad_pointer(const char *function, uintptr_t address);

/* An object is freed twice. */
void hew_describe_double_free(const char *function, uintptr_t address);

/* Likewise for one that is used after it was freed, by other than a free. */
void hew_describe_free(const char *function, uintptr_t address);

/* The same where leaving the object alone would not be enough: the process ends, whatever a hook does. */
_Noreturn void hew_describe_and_end(const char *function, uintptr_t address);
_Noreturn void hew_describe_twice_and_end(const char *function, uintptr_t address);
_Noreturn void hew_describe_free_and_end(const char *function, uintptr_t address);

#endif
