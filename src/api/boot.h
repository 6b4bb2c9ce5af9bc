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

#endif
