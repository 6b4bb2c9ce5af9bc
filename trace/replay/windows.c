/* SPDX-License-Identifier: MIT */
/* windows: see windows.h. */
#include "replay/windows.h"

#include "base/compiler.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 200
#define YIELDS 20

bool
hew_windows_begin(struct hew_windows *windows, const struct hew_plan *plan)
{
    *windows = (struct hew_windows){
        .count = plan->windows,
        .batches = plan->window_batches,
        .last_batches = plan->last_window_batches,
        .alone = plan->threads == 1,
    };
    windows->ended = mmap(NULL, ((size_t)plan->windows + 1) * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return windows->ended != MAP_FAILED;
}

void
hew_windows_pause(unsigned round)
{
    if (round < SPINS) {
        hew_cpu_pause();
    } else {
        sched_yield();
    }
}

void
hew_windows_wait(struct hew_windows *windows, uint32_t window)
{
    uint32_t low;

    if (windows->alone) {
        return;
    }
    for (unsigned round = 0; (low = __atomic_load_n(&windows->low, __ATOMIC_ACQUIRE)) + 1 < window; round++) {
        if (round < SPINS + YIELDS) {
            hew_windows_pause(round);
            continue;
        }
        /* Each side writes before it reads, so at least one of them sees the other's write. */
        __atomic_fetch_add(&windows->sleeping, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&windows->low, __ATOMIC_SEQ_CST) == low) {
            syscall(SYS_futex, &windows->low, FUTEX_WAIT_PRIVATE, low, NULL, NULL, 0);
        }
        __atomic_fetch_sub(&windows->sleeping, 1, __ATOMIC_SEQ_CST);
    }
}

static bool
has_ended(const struct hew_windows *windows, uint32_t window)
{
    uint32_t batches = window + 1 == windows->count ? windows->last_batches : windows->batches;

    return window < windows->count && __atomic_load_n(&windows->ended[window], __ATOMIC_SEQ_CST) == batches;
}

void
hew_windows_ended(struct hew_windows *windows, uint32_t window)
{
    uint32_t low;
    bool moved = false;

    if (windows->alone) {
        return;
    }
    __atomic_fetch_add(&windows->ended[window], 1, __ATOMIC_SEQ_CST);
    low = __atomic_load_n(&windows->low, __ATOMIC_SEQ_CST);
    while (has_ended(windows, low)) {
        if (__atomic_compare_exchange_n(&windows->low, &low, low + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            low++;
            moved = true;
        }
    }
    if (moved && __atomic_load_n(&windows->sleeping, __ATOMIC_SEQ_CST) > 0) {
        syscall(SYS_futex, &windows->low, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    }
}
