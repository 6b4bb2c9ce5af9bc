/* SPDX-License-Identifier: MIT */
/* attach: see attach.h. */
#include "record/attach.h"

#include "format/format.h"
#include "os/syscall.h"
#include "record/about.h"
#include "record/file.h"
#include "record/large.h"
#include "record/next.h"
#include "record/slots.h"

#include <time.h>

#define WAITS_MS 10000

static uint32_t
phase(void)
{
    return __atomic_load_n(&hew_trace_shared.phase, __ATOMIC_ACQUIRE);
}

static void
wait_ms(void)
{
    struct timespec moment = {0, 1000000};

    hew_syscall2(SYS_nanosleep, &moment, NULL);
}

/* Waits until no thread uses the file of an earlier recording.  False if one still does after WAITS_MS. */
static bool
is_quiet(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* after the recording's end: a thread that enters later sees it */
    for (unsigned i = 0; __atomic_load_n(&hew_trace_shared.inside, __ATOMIC_SEQ_CST) != 0; i++) {
        if (i == WAITS_MS) {
            return false;
        }
        wait_ms();
    }
    return true;
}

long
hew_trace_attach(const char *file, const uint64_t numbers[5])
{
    bool before = hew_next_known;
    long slots;

    if (phase() != HEW_TRACE_STOPPED && (before || phase() != HEW_TRACE_UNBORN)) {
        return -1;
    }
    if (!is_quiet()) {
        return -1;
    }
    hew_next_from_program();
    hew_slots_give(); /* left over from a recording that was not detached */
    hew_large_forget();
    hew_trace_settings = (struct hew_trace_settings){.most = numbers[0],
                                                     .thread_sampling = numbers[1],
                                                     .stack_sampling = numbers[2],
                                                     .children = numbers[3] != 0,
                                                     .sample_bytes = numbers[4]};
    if (!hew_next_ready() || !hew_trace_wish(file)) {
        return -2;
    }
    slots = hew_slots_take();
    if (slots <= 0) {
        hew_trace_stop(0);
        return -2;
    }
    return slots;
}

long
hew_trace_look(void)
{
    if (phase() == HEW_TRACE_STOPPED) {
        return -1;
    }
    hew_trace_extend();
    hew_slots_take();
    return (long)__atomic_load_n(&hew_trace_shared.file_end, __ATOMIC_RELAXED);
}

void
hew_trace_detach(void)
{
    bool recording;

    hew_slots_give();
    /* A thread that is creating the file must not find the next recording's state instead of this one's. */
    for (unsigned i = 0; i < WAITS_MS && phase() == HEW_TRACE_STARTING; i++) {
        wait_ms();
    }
    recording = phase() == HEW_TRACE_RECORDING;
    if (recording && hew_trace_settings.stack_sampling != 0) {
        hew_trace_write_modules(0, UINTPTR_MAX, hew_trace_shared.generation);
        hew_trace_write_threads(hew_trace_shared.generation);
    }
    hew_trace_stop(recording ? HEW_TRACE_ENDED : 0);
}
