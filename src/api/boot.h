/* SPDX-License-Identifier: MIT */
/*
 * boot: the order in which the library starts, the handling of thread start and end, and fork.
 *
 *     first call -> size tables -> address maps -> settings -> (ready) -> arena 0 -> first cache -> key, fork handlers
 *
 * Everything up to "ready" uses system calls only, so it cannot call back into malloc.
 */
#ifndef HEW_API_BOOT_H
#define HEW_API_BOOT_H

#include "base/compiler.h"

/* Starts the library.  Thread-safe and idempotent.  After it every layer works. */
void hew_boot(void);

/* The program is about to forbid itself system calls.  From now on hew makes only system calls for memory. */
void hew_expect_filter(void);

/* Registers, once, the handlers that carry the locks over a fork. */
void hew_fork_register(void);

/* Whether a program that calls vfork() calls ours: not so where the library was loaded late.  Absent where the library has none of
 * its own: shared/vfork_x86_64.c. */
HEW_WEAK bool hew_vfork_is_ours(void);

/* -- Boot steps in separate files ---------------------------------------------------------------------------------- */

/* declared.c, before any other thread exists: reserves the memory that the setting `pools` declares, without page
 * faults.  It reports on a line what it could not reserve; malloc then allocates that as usual. */
void hew_declared_reserve(const char *setting);

/* profile.c, for atexit(): writes the heap profile, the log of samples and the leak report at the end of the
 * process. */
void hew_profile_at_exit(void);

#endif
