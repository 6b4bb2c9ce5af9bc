/* SPDX-License-Identifier: MIT */
#include "os/futex.h"

#include "os/syscall.h"

#include <time.h>

/* The kernel's numbers.  Not every libc comes with the kernel's headers. */
#define WAIT_PRIVATE 128
#define WAKE_PRIVATE 129

void
hew_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ms)
{
    struct timespec timeout = {(time_t)(timeout_ms / 1000), (long)(timeout_ms % 1000) * 1000000};
    hew_syscall4(SYS_futex, word, WAIT_PRIVATE, value, timeout_ms == 0 ? NULL : &timeout);
}

void
hew_futex_wake(_Atomic uint32_t *word, int sleepers)
{
    hew_syscall3(SYS_futex, word, WAKE_PRIVATE, sleepers);
}
