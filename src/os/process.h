/* SPDX-License-Identifier: MIT */
/*
 * process: limits of the process, and addresses that the system chose for it.
 */
#ifndef HEW_OS_PROCESS_H
#define HEW_OS_PROCESS_H

#include "base/compiler.h"

/* Returns the machine's memory and swap in bytes; SIZE_MAX: unknown.  No more can be in use. */
size_t hew_os_machine_memory(void);

/* Return RLIMIT_AS in bytes (SIZE_MAX: none), an address inside the main program, and an address inside its first
 * stack. */
size_t hew_os_address_space_limit(void);
uintptr_t hew_os_program_address(void);
uintptr_t hew_os_stack_address(void);

/* Returns a random number that the system draws for each process.  It is not secret: values derived from it may become
 * visible. */
uint64_t hew_os_random_seed(void);

/* mlockall(), which returns 0 or -errno; and RLIMIT_MEMLOCK in bytes (SIZE_MAX: none). */
int hew_os_lock_all(int flags);
size_t hew_os_locked_limit(void);

#endif
