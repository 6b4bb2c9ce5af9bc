/* SPDX-License-Identifier: MIT */
/*
 * boot: the order in which the library comes to life, what a thread's start and end mean, and fork.
 *
 *     first call -> size tables -> address maps -> settings -> (ready) -> arena 0 -> first cache -> key, fork handlers
 *
 * Everything up to "ready" uses system calls only, so that nothing leads back into malloc.
 */
#ifndef HEW_API_BOOT_H
#define HEW_API_BOOT_H

#include "base/compiler.h"

/* Thread-safe, idempotent; after it every layer works. */
void hew_boot(void);

/* The program is about to forbid itself system calls: from now on no kind is made that is not for memory. */
void hew_expect_filter(void);

/* Registers, once, the handlers that carry the locks over a fork. */
void hew_fork_register(void);

/* -- Steps of boot that have files of their own ----------------------------------------------------------------------- */

/* declared.c, before any other thread: makes the memory that the setting `pools` declares, without faults.  What there is
 * no memory for is reported on a line, and malloc finds it later as it finds any. */
void hew_declared_reserve(const char *setting);

/* profile.c, for atexit(): the heap profile and the log of samples at the end of the process, and the report of leaks. */
void hew_profile_at_exit(void);

#endif
