/* SPDX-License-Identifier: MIT */
/* live: see live.h.  A table with linear probing, at most half full; entries behind a removed one move up. */
#include "format/live.h"

#include <stdlib.h>

struct entry {
    uint64_t number;
    uint64_t size;
    uint32_t thread;
    uint32_t slot; /* plus 1; 0: the entry is empty */
};

struct hew_trace_live {
    struct entry *entries;
    uint32_t *free_slots; /* capacity: one for each slot */
    size_t mask;
    size_t count;
    size_t free_count;
    uint32_t slots; /* slots created so far */
};

#define FIRST_ENTRIES 1024

struct hew_trace_live *
hew_trace_live_new(void)
{
    struct hew_trace_live *live = calloc(1, sizeof(*live));

    if (live == NULL) {
        return NULL;
    }
    live->mask = FIRST_ENTRIES - 1;
    live->entries = calloc(FIRST_ENTRIES, sizeof(*live->entries));
    live->free_slots = calloc(FIRST_ENTRIES / 2, sizeof(*live->free_slots));
    if (live->entries == NULL || live->free_slots == NULL) {
        hew_trace_live_free(live);
        return NULL;
    }
    return live;
}

void
hew_trace_live_free(struct hew_trace_live *live)
{
    if (live != NULL) {
        free(live->entries);
        free(live->free_slots);
        free(live);
    }
}

static size_t
home(const struct hew_trace_live *live, uint32_t thread, uint64_t number)
{
    uint64_t mixed = (number + thread * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);

    return (size_t)(mixed ^ (mixed >> 32)) & live->mask;
}

/* The object's entry, or the place for it. */
static struct entry *
find(const struct hew_trace_live *live, struct hew_trace_object object)
{
    for (size_t at = home(live, object.thread, object.number);; at = (at + 1) & live->mask) {
        struct entry *entry = &live->entries[at];
        if (entry->slot == 0 || (entry->number == object.number && entry->thread == object.thread)) {
            return entry;
        }
    }
}

/* Doubles the capacity; without memory nothing changes. */
static bool
grow(struct hew_trace_live *live)
{
    size_t entries = live->mask + 1;
    struct entry *old = live->entries;
    struct entry *more = calloc(entries * 2, sizeof(*more));
    uint32_t *slots = more == NULL ? NULL : realloc(live->free_slots, entries * sizeof(*slots));

    if (slots == NULL) {
        free(more);
        return false;
    }
    live->free_slots = slots;
    live->entries = more;
    live->mask = entries * 2 - 1;
    for (size_t i = 0; i < entries; i++) {
        if (old[i].slot != 0) {
            *find(live, (struct hew_trace_object){old[i].thread, old[i].number}) = old[i];
        }
    }
    free(old);
    return true;
}

bool
hew_trace_live_add(struct hew_trace_live *live, struct hew_trace_object object, uint64_t size, uint64_t *slot)
{
    struct entry *entry;

    if ((live->count + 1) * 2 > live->mask + 1 && (live->slots == UINT32_MAX - 1 || !grow(live))) {
        return false;
    }
    entry = find(live, object);
    if (entry->slot == 0) {
        uint32_t taken = live->free_count > 0 ? live->free_slots[--live->free_count] : live->slots++;
        *entry = (struct entry){.number = object.number, .thread = object.thread, .slot = taken + 1};
        live->count++;
    }
    entry->size = size;
    *slot = entry->slot - 1;
    return true;
}

bool
hew_trace_live_take(struct hew_trace_live *live, struct hew_trace_object object, uint64_t *slot, uint64_t *size)
{
    struct entry *entry = find(live, object);
    size_t hole, at;

    if (entry->slot == 0) {
        return false;
    }
    *slot = entry->slot - 1;
    *size = entry->size;
    live->free_slots[live->free_count++] = entry->slot - 1;
    live->count--;
    hole = (size_t)(entry - live->entries);
    for (at = (hole + 1) & live->mask; live->entries[at].slot != 0; at = (at + 1) & live->mask) {
        size_t wanted = home(live, live->entries[at].thread, live->entries[at].number);
        if (((at - wanted) & live->mask) >= ((at - hole) & live->mask)) {
            live->entries[hole] = live->entries[at];
            hole = at;
        }
    }
    live->entries[hole].slot = 0;
    return true;
}
