/* SPDX-License-Identifier: MIT */
/*
 * steps: each place has a number beside its words: 0 while it is written, else the step's own.  Who reads looks at it before and after, as
 * with a sequence lock, but that nobody ever waits.
 */
#include "base/steps.h"

#include <stdatomic.h>

#define WORDS (sizeof(struct hew_step) / sizeof(uint64_t))

struct place {
    _Atomic uint64_t number;
    _Atomic uint64_t words[WORDS]; /* relaxed, between a release and an acquire of the number */
};

static struct ring {
    _Atomic uint64_t told; /* steps, ever */
    struct place places[HEW_STEPS_KEPT];
} rings[HEW_STEP_LEVERS];

/* Without pointers, as all tables: those would cost every process relocations. */
static const char lever_names[HEW_STEP_LEVERS][16] = {
    [HEW_STEP_CACHE_ROOM] = "cache_room",
    [HEW_STEP_DIRTY_DECAY] = "dirty_decay_ms",
    [HEW_STEP_DEPOT_ROOM] = "depot_room",
};
static const char outcome_names[HEW_STEP_OUTCOMES][12] = {
    [HEW_STEP_TRIED] = "being tried",
    [HEW_STEP_KEPT] = "kept",
    [HEW_STEP_UNDONE] = "undone",
    [HEW_STEP_THOUGHT] = "would try",
};

const char *
hew_step_lever_name(uint64_t lever)
{
    return lever_names[lever];
}

const char *
hew_step_outcome_name(uint64_t outcome)
{
    return outcome_names[outcome];
}

void
hew_steps_tell(const struct hew_step *step)
{
    struct ring *ring = &rings[step->lever];
    uint64_t number = atomic_fetch_add_explicit(&ring->told, 1, memory_order_relaxed);
    struct place *place = &ring->places[number % HEW_STEPS_KEPT];
    const uint64_t *words = (const uint64_t *)step;
    atomic_exchange_explicit(&place->number, 0, memory_order_acquire); /* nothing below is written before it */
    for (unsigned word = 0; word < WORDS; word++) {
        atomic_store_explicit(&place->words[word], words[word], memory_order_release); /* nor seen before it */
    }
    atomic_store_explicit(&place->number, number + 1,
                          memory_order_release); /* pairs with the acquires of read_place() */
}

/* The number of the step that was read, 0: none, or it was being written. */
static uint64_t
read_place(struct place *place, struct hew_step *step)
{
    uint64_t number = atomic_load_explicit(&place->number, memory_order_acquire), *words = (uint64_t *)step;
    for (unsigned word = 0; word < WORDS; word++) {
        words[word] = atomic_load_explicit(&place->words[word], memory_order_acquire);
    }
    bool same = atomic_load_explicit(&place->number, memory_order_relaxed) == number;
    return same && step->lever < HEW_STEP_LEVERS && step->outcome < HEW_STEP_OUTCOMES ? number : 0;
}

/* By insertion: they are few, and nearly in order. */
static void
put_in_order(struct hew_step *steps, unsigned count, const struct hew_step *step)
{
    for (; count > 0 && steps[count - 1].at_ms > step->at_ms; count--) {
        steps[count] = steps[count - 1];
    }
    steps[count] = *step;
}

unsigned
hew_steps_read(struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT])
{
    unsigned count = 0;
    for (unsigned lever = 0; lever < HEW_STEP_LEVERS; lever++) {
        uint64_t told = atomic_load_explicit(&rings[lever].told, memory_order_relaxed);
        for (unsigned at = 0; at < HEW_STEPS_KEPT; at++) { /* the oldest lies where the next one is told */
            struct hew_step step;
            if (read_place(&rings[lever].places[(told + at) % HEW_STEPS_KEPT], &step) != 0) {
                put_in_order(steps, count++, &step);
            }
        }
    }
    return count;
}

void
hew_steps_forget(void)
{
    for (unsigned lever = 0; lever < HEW_STEP_LEVERS; lever++) {
        for (unsigned at = 0; at < HEW_STEPS_KEPT; at++) {
            atomic_store_explicit(&rings[lever].places[at].number, 0, memory_order_relaxed);
        }
    }
}
