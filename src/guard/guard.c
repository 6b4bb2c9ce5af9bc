/* SPDX-License-Identifier: MIT */
#include "guard/guard.h"

#include "alloc/fill.h"
#include "base/options.h"
#include "os/fatal.h"
#include "page/due.h"
#include "prof/modules.h"
#include "prof/unwind.h"
#include "slab/arena.h"

#include <string.h>

#define UNIT 1000      /* credit of one object: guard_rate is credit for each millisecond */
#define FIRST_CREDIT 8 /* objects that are guarded before any time has passed */
#define FIRST_INTERVAL 16384u
#define INTERVAL_MIN 16u
#define INTERVAL_MAX (1u << 30)
#define REFUSALS 16u /* the interval doubles after so many */
#define ROUND_MS 250u
#define CREDIT_MS 1000u /* credit is kept for so long */

/* All relaxed: each number is right by itself. */
static struct {
    _Atomic int64_t credit;
    _Atomic unsigned rate;
    _Atomic uint32_t granted, refused; /* since the last round */
    _Atomic uint64_t round_ms;         /* when it was */
    _Atomic bool sizes_are_known;
    _Atomic uint64_t guarded, passed, refused_ever, reported, found[HEW_GUARD_BUGS];
} guard;

static _Atomic uint32_t start; /* NOT_BEGUN, then one thread makes it BEGINNING, and READY or IMPOSSIBLE */
enum { NOT_BEGUN, BEGINNING, READY, IMPOSSIBLE };

/* The text of one report at a time.  A thread that finds another one at it reports without stacks. */
static char report_buffer[8192];
static _Atomic bool reporting;

void
hew_guard_boot(void)
{
    atomic_store_explicit(&guard.sizes_are_known, hew_fill_wanted(), memory_order_relaxed); /* which fills all bytes */
    atomic_store_explicit(&guard.credit, FIRST_CREDIT * UNIT, memory_order_relaxed);
    hew_guard_set_rate(hew_options.guard_rate);
}

unsigned
hew_guard_rate(void)
{
    return atomic_load_explicit(&guard.rate, memory_order_relaxed);
}

void
hew_guard_set_rate(unsigned rate)
{
    atomic_store_explicit(&guard.rate, rate < HEW_GUARD_RATE_MAX ? rate : HEW_GUARD_RATE_MAX, memory_order_relaxed);
    atomic_store_explicit(&hew_cache_guard_interval, rate == 0 ? 0 : FIRST_INTERVAL, memory_order_relaxed);
}

void
hew_guard_trust_sizes(void)
{
    atomic_store_explicit(&guard.sizes_are_known, true, memory_order_relaxed);
}

static bool
take_credit(void)
{
    int64_t credit = atomic_load_explicit(&guard.credit, memory_order_relaxed);
    do {
        if (credit < UNIT) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&guard.credit, &credit, credit - UNIT, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/* Objects come more slowly than they might: no call site is passed by. */
static bool
has_plenty(void)
{
    return atomic_load_explicit(&guard.credit, memory_order_relaxed) >= (int64_t)hew_guard_rate() * CREDIT_MS / 2;
}

static void
return_credit(void)
{
    atomic_fetch_add_explicit(&guard.credit, UNIT, memory_order_relaxed);
}

/* Objects are due more often than there is credit: the next ones come later.  A purger is wanted, which knows the time. */
static void
refuse(void)
{
    atomic_fetch_add_explicit(&guard.refused_ever, 1, memory_order_relaxed);
    if ((atomic_fetch_add_explicit(&guard.refused, 1, memory_order_relaxed) + 1) % REFUSALS == 0) {
        uint32_t interval = atomic_load_explicit(&hew_cache_guard_interval, memory_order_relaxed);
        if (interval != 0 && interval < INTERVAL_MAX) {
            atomic_compare_exchange_strong(&hew_cache_guard_interval, &interval, interval * 2);
        }
    }
    hew_page_raise_due();
}

/* Returns the text, or NULL: another report is being written. */
static struct hew_text *
begin_report(struct hew_text *text)
{
    if (atomic_exchange_explicit(&reporting, true, memory_order_acquire)) {
        return NULL;
    }
    hew_text_begin(text, report_buffer, sizeof report_buffer);
    return text;
}

static void
end_report(void)
{
    atomic_store_explicit(&reporting, false, memory_order_release); /* pairs with the acquire above */
}

static bool
count_bug(enum hew_guard_bug bug, const struct hew_guard_slot *slot, const struct hew_guard_stack *here)
{
    atomic_fetch_add_explicit(&guard.found[bug], 1, memory_order_relaxed);
    bool is_new = hew_guard_is_new(bug, slot, here);
    atomic_fetch_add_explicit(&guard.reported, is_new, memory_order_relaxed);
    return is_new;
}

/* Frames between the handler and the instruction belong to the signal. */
static void
drop_signal_frames(struct hew_guard_stack *stack, uintptr_t pc)
{
    for (unsigned i = 0; i < stack->depth; i++) {
        if (stack->frames[i] == pc) {
            stack->depth -= i;
            memmove(stack->frames, stack->frames + i, stack->depth * sizeof *stack->frames);
            return;
        }
    }
}

/* In a signal handler. */
static void
note_fault(const struct hew_fault *fault)
{
    struct hew_guard_finding finding = hew_guard_explain(fault->address);
    struct hew_guard_stack here = hew_guard_stack_here(fault->sp);
    struct hew_text text;
    drop_signal_frames(&here, fault->pc);
    if (!count_bug(finding.bug, finding.slot, &here) || begin_report(&text) == NULL) {
        return;
    }
    hew_guard_put_fault(&text, fault, &finding);
    hew_guard_put_stack(&text, "touched", &here);
    if (finding.slot != NULL) {
        hew_guard_put_stacks(&text, finding.slot);
    }
    hew_os_write_error(text.at, text.length);
    end_report();
}

/* Reports a misuse by a call of `function`; returns if a hook has received the line, or it is known. */
static void
report(enum hew_guard_bug bug, enum hew_fatal_kind kind, const char *function, uintptr_t address,
       const struct hew_guard_slot *slot)
{
    struct hew_guard_stack here = hew_guard_stack_here(0);
    struct hew_text detail, stacks;
    char words[160];
    if (!count_bug(bug, slot, &here)) {
        return;
    }
    hew_text_begin(&detail, words, sizeof words);
    if (slot->object == 0) {
        hew_text_put(&detail, "between guarded objects");
    } else {
        bool free =
            bug == HEW_GUARD_DOUBLE_FREE || atomic_load_explicit(&slot->state, memory_order_acquire) == HEW_GUARD_GONE;
        hew_text_put(&detail, kind == HEW_FATAL_interior  ? "inside the "
                              : kind == HEW_FATAL_foreign ? "beside the "
                                                          : "the ");
        hew_text_put_unsigned(&detail, slot->requested);
        hew_text_put(&detail, "-byte object at ");
        hew_text_put_hex(&detail, slot->object);
        hew_text_put(&detail, free ? " is free already" : "");
    }
    bool alone = begin_report(&stacks) != NULL;
    if (alone) {
        hew_guard_put_stack(&stacks, "called", &here);
        hew_guard_put_stacks(&stacks, slot);
    }
    hew_misuse_with(kind, function, address, words, alone ? stacks.at : "");
    if (alone) {
        end_report();
    }
}

/* With the first guarded object: reserves the range, and watches for faults there.  False: not ready, or impossible. */
static bool
is_ready(void)
{
    uint32_t state = atomic_load_explicit(&start, memory_order_acquire); /* pairs with the release below */
    if (HEW_LIKELY(state == READY)) {
        return true;
    }
    if (state != NOT_BEGUN || !atomic_compare_exchange_strong(&start, &state, BEGINNING)) {
        return false;
    }
    if (!hew_options.prof) {
        hew_unwind_boot(hew_modules_note);
    }
    bool begun = hew_guard_slots_begin() && hew_fault_watch(hew_guard_base, hew_guard_end, note_fault);
    atomic_store_explicit(&start, begun ? READY : IMPOSSIBLE, memory_order_release);
    return begun;
}

static struct hew_guard_slot *
take_slot(unsigned code, size_t size)
{
    struct hew_guard_stack here = hew_guard_stack_here((uintptr_t)__builtin_frame_address(0));
    if (!hew_guard_site_is_wanted(&here, has_plenty())) {
        atomic_fetch_add_explicit(&guard.passed, 1, memory_order_relaxed);
        return_credit();
        return NULL;
    }
    struct hew_guard_slot *slot = hew_guard_slot_take(size, hew_code_size(code), &here);
    if (slot == NULL) {
        return_credit();
        refuse();
    }
    return slot;
}

void *
hew_guard_attend(struct hew_arena *arena, unsigned code, size_t size)
{
    atomic_fetch_add_explicit(&hew_cache_guard_turn, 1, memory_order_relaxed);
    if (hew_guard_rate() == 0 || arena == NULL || arena->manual || arena->pages.heap->hooks != NULL ||
        !hew_page_bound_is_far(HEW_GRAIN)) {
        return NULL;
    }
    if (!is_ready() || !take_credit()) {
        refuse();
        return NULL;
    }
    struct hew_guard_slot *slot = take_slot(code, size);
    if (slot == NULL) {
        return NULL;
    }
    atomic_fetch_add_explicit(&guard.granted, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&guard.guarded, 1, memory_order_relaxed);
    atomic_store_explicit(&slot->state, HEW_GUARD_IS_LIVE, memory_order_release);
    return (void *)slot->object;
}

/* Whose object begins at `address`, and is live: its slot.  Otherwise reports what else it is. */
static struct hew_guard_slot *
live_slot(const char *function, uintptr_t address, bool frees)
{
    struct hew_guard_slot *slot = hew_guard_slot_of(address);
    bool begins = slot->object == address;
    if (begins && atomic_load_explicit(&slot->state, memory_order_acquire) == HEW_GUARD_IS_LIVE) {
        return slot;
    }
    if (!begins) {
        bool inside = address - slot->object < slot->usable;
        report(HEW_GUARD_BAD_POINTER, inside ? HEW_FATAL_interior : HEW_FATAL_foreign, function, address, slot);
    } else if (frees) {
        report(HEW_GUARD_DOUBLE_FREE, HEW_FATAL_double_free, function, address, slot);
    } else {
        report(HEW_GUARD_USE_AFTER_FREE, HEW_FATAL_not_allocated, function, address, slot);
    }
    return NULL;
}

size_t
hew_guard_free(const char *function, void *object)
{
    uintptr_t address = (uintptr_t)object;
    struct hew_guard_slot *slot = live_slot(function, address, true);
    uint32_t live = HEW_GUARD_IS_LIVE;
    if (slot == NULL) {
        return 0;
    }
    if (!atomic_compare_exchange_strong(&slot->state, &live, HEW_GUARD_CLOSING)) { /* another thread was faster */
        report(HEW_GUARD_DOUBLE_FREE, HEW_FATAL_double_free, function, address, slot);
        return 0;
    }
    bool exact = !atomic_load_explicit(&slot->asked, memory_order_relaxed) &&
                 !atomic_load_explicit(&guard.sizes_are_known, memory_order_relaxed);
    enum hew_guard_damage damage = hew_guard_slot_damage(slot, exact);
    if (damage == HEW_GUARD_BEFORE) {
        report(HEW_GUARD_UNDERFLOW, HEW_FATAL_underflow, function, address, slot);
    } else if (damage == HEW_GUARD_BEHIND) {
        report(HEW_GUARD_OVERFLOW, HEW_FATAL_overflow, function, address, slot);
    }
    size_t usable = slot->usable;
    slot->died = hew_guard_stack_here(0);
    hew_guard_slot_close(slot);
    return usable;
}

size_t
hew_guard_usable(const char *function, const void *object)
{
    struct hew_guard_slot *slot = live_slot(function, (uintptr_t)object, false);
    if (slot == NULL) {
        return 0;
    }
    atomic_store_explicit(&slot->asked, true, memory_order_relaxed);
    return slot->usable;
}

/* Time without refusals in which fewer than half of the wanted objects came: they are to come earlier. */
static void
adapt(uint64_t wanted)
{
    uint64_t granted = UNIT * (uint64_t)atomic_exchange_explicit(&guard.granted, 0, memory_order_relaxed);
    uint32_t refused = atomic_exchange_explicit(&guard.refused, 0, memory_order_relaxed);
    uint32_t interval = atomic_load_explicit(&hew_cache_guard_interval, memory_order_relaxed);
    if (refused == 0 && granted < wanted / 2 && interval > INTERVAL_MIN) {
        atomic_compare_exchange_strong(&hew_cache_guard_interval, &interval, interval / 2);
    }
}

static void
add_credit(uint64_t earned, unsigned rate)
{
    int64_t credit = atomic_load_explicit(&guard.credit, memory_order_relaxed), sum, most = (int64_t)rate * CREDIT_MS;
    do {
        sum = credit + (int64_t)earned < most ? credit + (int64_t)earned : most;
    } while (!atomic_compare_exchange_weak_explicit(&guard.credit, &credit, sum, memory_order_relaxed,
                                                    memory_order_relaxed));
}

uint64_t
hew_guard_round(uint64_t now_ms)
{
    unsigned rate = hew_guard_rate();
    uint64_t before = atomic_load_explicit(&guard.round_ms, memory_order_relaxed), since = now_ms - before;
    if (rate == 0 || hew_guard_base == 0) {
        return 0;
    }
    if (since < ROUND_MS) {
        return ROUND_MS - since;
    }
    if (!atomic_compare_exchange_strong(&guard.round_ms, &before, now_ms)) {
        return ROUND_MS; /* another thread is faster */
    }
    bool idle = atomic_load_explicit(&guard.granted, memory_order_relaxed) == 0 &&
                atomic_load_explicit(&guard.refused, memory_order_relaxed) == 0;
    since = since < CREDIT_MS ? since : CREDIT_MS;
    adapt(rate * since);
    add_credit(rate * since, rate);
    uint32_t interval = atomic_load_explicit(&hew_cache_guard_interval, memory_order_relaxed);
    return idle && interval <= INTERVAL_MIN ? 0 : ROUND_MS;
}

struct hew_guard_counts
hew_guard_counts(void)
{
    struct hew_guard_usage usage = hew_guard_usage_now();
    struct hew_guard_counts counts = {
        .guarded = atomic_load_explicit(&guard.guarded, memory_order_relaxed),
        .passed = atomic_load_explicit(&guard.passed, memory_order_relaxed),
        .refused = atomic_load_explicit(&guard.refused_ever, memory_order_relaxed),
        .interval = atomic_load_explicit(&hew_cache_guard_interval, memory_order_relaxed),
        .reported = atomic_load_explicit(&guard.reported, memory_order_relaxed),
        .live = usage.live,
        .waiting = usage.waiting,
    };
    for (unsigned bug = 0; bug < HEW_GUARD_BUGS; bug++) {
        counts.found[bug] = atomic_load_explicit(&guard.found[bug], memory_order_relaxed);
    }
    return counts;
}
