/* SPDX-License-Identifier: MIT */
/*
 * futex: threads sleep on a 32-bit word of this process.  Thread-safe, keeps errno.
 */
#ifndef HEW_OS_FUTEX_H
#define HEW_OS_FUTEX_H

#include "base/compiler.h"

#include <stdatomic.h>

/* Sleeps until woken, until *word is not `value`, or for `timeout_ms` (0: no timeout).  It may also return for no
 * reason, so the caller must check again. */
void hew_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ms);
void hew_futex_wake(_Atomic uint32_t *word, int sleepers);

#endif
