/* SPDX-License-Identifier: MIT */
/*
 * process: what the process may have, and where the system has put it.
 *
 * Every call is thread-safe, keeps errno and allocates nothing.
 */
#ifndef HEW_OS_PROCESS_H
#define HEW_OS_PROCESS_H

#include "base/compiler.h"

/* Bytes of memory and swap that the machine has; SIZE_MAX: unknown.  No more can be in use. */
size_t hew_os_machine_memory(void);

/* RLIMIT_AS in bytes, SIZE_MAX when there is none; an address inside the main program; one inside its first stack. */
size_t hew_os_address_space_limit(void);
uintptr_t hew_os_program_address(void);
uintptr_t hew_os_stack_address(void);

/* A number that the system draws for each process.  No secret: what is made of it may be seen. */
uint64_t hew_os_random_seed(void);

/* mlockall(): 0 or -errno; and RLIMIT_MEMLOCK in bytes, SIZE_MAX when there is none. */
int hew_os_lock_all(int flags);
size_t hew_os_locked_limit(void);

#endif
