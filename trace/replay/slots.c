/* SPDX-License-Identifier: MIT */
/* slots: see slots.h. */
#include "replay/slots.h"

#include "replay/plan.h"

#include <stdlib.h>

#define TOGETHER 512 /* slots of a page: each thread writes into its own pages */

bool
hew_slots_begin(struct hew_slots *slots, uint32_t threads)
{
    *slots = (struct hew_slots){0};
    slots->own_free = calloc(threads, sizeof(uint32_t));
    slots->own_fresh = calloc(threads, sizeof(uint32_t));
    slots->own_end = calloc(threads, sizeof(uint32_t));
    return slots->own_free != NULL && slots->own_fresh != NULL && slots->own_end != NULL;
}

void
hew_slots_end(struct hew_slots *slots)
{
    free(slots->free_next);
    free(slots->free_window);
    free(slots->own_free);
    free(slots->own_fresh);
    free(slots->own_end);
    *slots = (struct hew_slots){0};
}

static bool
take_fresh(struct hew_slots *slots, uint32_t *fresh, uint32_t *end, uint32_t *slot)
{
    if (*fresh == *end) {
        if (slots->count + TOGETHER > slots->capacity) {
            size_t capacity = slots->capacity == 0 ? TOGETHER * 8 : slots->capacity * 2;
            uint32_t *next = realloc(slots->free_next, capacity * sizeof(*next)), *window;
            slots->free_next = next != NULL ? next : slots->free_next;
            window = next == NULL ? NULL : realloc(slots->free_window, capacity * sizeof(*window));
            slots->free_window = window != NULL ? window : slots->free_window;
            if (window == NULL || slots->count + TOGETHER > HEW_PLAN_SLOTS) {
                return false;
            }
            slots->capacity = capacity;
        }
        *fresh = (uint32_t)slots->count;
        *end = *fresh + TOGETHER;
        slots->count += TOGETHER;
    }
    *slot = (*fresh)++;
    return true;
}

bool
hew_slots_take(struct hew_slots *slots, uint32_t thread, bool handed, uint32_t window, uint32_t *slot)
{
    uint32_t first = handed ? slots->handed_first : slots->own_free[thread];

    if (!handed && first != 0) {
        *slot = first - 1;
        slots->own_free[thread] = slots->free_next[*slot];
        return true;
    }
    if (handed && first != 0 && slots->free_window[first - 1] + 2 <= window) {
        *slot = first - 1;
        slots->handed_first = slots->free_next[*slot];
        slots->handed_last = slots->handed_first == 0 ? 0 : slots->handed_last;
        return true;
    }
    return handed ? take_fresh(slots, &slots->handed_fresh, &slots->handed_end, slot)
                  : take_fresh(slots, &slots->own_fresh[thread], &slots->own_end[thread], slot);
}

void
hew_slots_give(struct hew_slots *slots, uint32_t thread, bool handed, uint32_t window, uint32_t slot)
{
    slots->free_window[slot] = window;
    if (!handed) {
        slots->free_next[slot] = slots->own_free[thread];
        slots->own_free[thread] = slot + 1;
        return;
    }
    slots->free_next[slot] = 0;
    if (slots->handed_last != 0) {
        slots->free_next[slots->handed_last - 1] = slot + 1;
    } else {
        slots->handed_first = slot + 1;
    }
    slots->handed_last = slot + 1;
}
