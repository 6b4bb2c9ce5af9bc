/* SPDX-License-Identifier: MIT */
/* tuning: see tuning.h.  A step that is being tried is in the ring at once, so that who looks amid a trial sees it. */
#include "stats/tuning.h"

#include "base/options.h"
#include "cache/share.h"
#include "stats/snapshot.h"

_Atomic uint64_t hew_stats_tuning[HEW_STATS_TUNING_NUMBERS];

static struct hew_stats_step ring[HEW_STATS_STEPS]; /* guarded by hew_stats_lock, with the next two */
static unsigned ring_next, ring_count;

/* Without pointers, as all tables: those would cost every process relocations. */
static const char lever_names[][16] = {
    [HEW_STEP_DEPOT_ROOM] = "depot_room",
    [HEW_STEP_DIRTY_DECAY] = "dirty_decay_ms",
};
static const char outcome_names[][16] = {
    [HEW_STEP_TRIED] = "being tried", [HEW_STEP_KEPT] = "kept",         [HEW_STEP_UNDONE] = "undone",
    [HEW_STEP_COSTLY] = "too costly", [HEW_STEP_OUTGROWN] = "outgrown", [HEW_STEP_THOUGHT] = "would try",
};

const char *
hew_step_lever_name(enum hew_step_lever lever)
{
    return lever_names[lever];
}

const char *
hew_step_outcome_name(enum hew_step_outcome outcome)
{
    return outcome_names[outcome];
}

/* Under the lock: the newest step of the lever, if it is being tried; NULL: it is not. */
static struct hew_stats_step *
being_tried(enum hew_step_lever lever)
{
    for (unsigned back = 1; back <= ring_count; back++) {
        struct hew_stats_step *step = &ring[(ring_next + HEW_STATS_STEPS - back) % HEW_STATS_STEPS];
        if (step->lever == lever) {
            return step->outcome == HEW_STEP_TRIED ? step : NULL;
        }
    }
    return NULL;
}

void
hew_stats_step_add(const struct hew_stats_step *step)
{
    hew_mutex_lock(&hew_stats_lock);
    struct hew_stats_step *place = step->outcome == HEW_STEP_TRIED ? NULL : being_tried(step->lever);
    if (place == NULL) {
        place = &ring[ring_next];
        ring_next = (ring_next + 1) % HEW_STATS_STEPS;
        ring_count += ring_count < HEW_STATS_STEPS;
    }
    *place = *step;
    hew_mutex_unlock(&hew_stats_lock);
}

/* Without the lock: nobody else is there, and who held it is not either. */
void
hew_stats_tuning_after_fork(void)
{
    for (unsigned number = 0; number < HEW_STATS_TUNING_NUMBERS; number++) {
        atomic_store_explicit(&hew_stats_tuning[number], 0, memory_order_relaxed);
    }
    ring_next = ring_count = 0;
}

unsigned
hew_stats_steps(struct hew_stats_step steps[HEW_STATS_STEPS])
{
    hew_mutex_lock(&hew_stats_lock);
    unsigned count = ring_count;
    for (unsigned index = 0; index < count; index++) {
        steps[index] = ring[(ring_next + HEW_STATS_STEPS - count + index) % HEW_STATS_STEPS];
    }
    hew_mutex_unlock(&hew_stats_lock);
    return count;
}

struct hew_stats_tuned
hew_stats_tuned(void)
{
    struct hew_stats_tuned tuned;
    for (unsigned number = 0; number < HEW_STATS_TUNING_NUMBERS; number++) {
        ((uint64_t *)&tuned)[number] = atomic_load_explicit(&hew_stats_tuning[number], memory_order_relaxed);
    }
    if (tuned.windows == 0) {
        tuned.depot_room = hew_options.depot_room;
        tuned.dirty_decay_ms = (uint64_t)hew_options.dirty_decay_ms;
    }
    tuned.room_lent = atomic_load_explicit(&hew_share_counts.lent, memory_order_relaxed);
    tuned.room_trials = atomic_load_explicit(&hew_share_counts.trials, memory_order_relaxed);
    tuned.room_kept = atomic_load_explicit(&hew_share_counts.kept, memory_order_relaxed);
    tuned.room_refused = atomic_load_explicit(&hew_share_counts.refused, memory_order_relaxed);
    return tuned;
}
