/* SPDX-License-Identifier: MIT */
/*
 * describe: what is known about an address, in words, for fatal messages.  Takes no lock: what it says about memory
 * that other threads are changing is a snapshot.
 */
#ifndef HEW_SLAB_DESCRIBE_H
#define HEW_SLAB_DESCRIBE_H

#include "os/fatal.h"
#include "slab/slab.h"

/* Ends the process for a bad pointer given to `function`: finds out which kind of bad it is. */
_Noreturn void hew_describe_bad_pointer(const char *function, uintptr_t address);

/* Ends the process for an object freed twice. */
_Noreturn void hew_describe_double_free(const char *function, uintptr_t address);

/* Likewise for one that is used after it was freed, by other than a free. */
_Noreturn void hew_describe_free(const char *function, uintptr_t address);

#endif
