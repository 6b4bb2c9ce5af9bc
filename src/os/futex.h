/* SPDX-License-Identifier: MIT */
/*
 * futex: sleeping on a 32-bit word of this process.  Thread-safe, keeps errno.
 */
#ifndef HEW_OS_FUTEX_H
#define HEW_OS_FUTEX_H

#include "base/compiler.h"

#include <stdatomic.h>

/* Returns when woken, when *word is not `value`, after `timeout_ms` (0: none), or for no reason: look again. */
void hew_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ms);
void hew_futex_wake(_Atomic uint32_t *word, int sleepers);

#endif
