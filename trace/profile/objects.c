/* SPDX-License-Identifier: MIT */
/* objects: see objects.h.  Linear probing, at most half full; entries behind a removed one move up. */
#include "profile/objects.h"

#include <stdlib.h>

#define FIRST_ENTRIES 1024

bool
profile_objects_begin(struct profile_objects *objects)
{
    *objects = (struct profile_objects){.mask = FIRST_ENTRIES - 1};
    objects->entries = calloc(FIRST_ENTRIES, sizeof(*objects->entries));
    return objects->entries != NULL;
}

void
profile_objects_end(struct profile_objects *objects)
{
    free(objects->entries);
    *objects = (struct profile_objects){0};
}

static size_t
home(const struct profile_objects *objects, uint32_t thread, uint64_t number)
{
    uint64_t mixed = (number + thread * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);

    return (size_t)(mixed ^ (mixed >> 32)) & objects->mask;
}

/* The object's entry, or the place for it. */
static size_t
find(const struct profile_objects *objects, uint32_t thread, uint64_t number)
{
    size_t at = home(objects, thread, number);

    while (objects->entries[at].thread != 0 &&
           (objects->entries[at].number != number || objects->entries[at].thread != thread)) {
        at = (at + 1) & objects->mask;
    }
    return at;
}

/* Doubles the table; without memory nothing changes. */
static bool
grow(struct profile_objects *objects)
{
    size_t count = objects->mask + 1;
    struct profile_object *old = objects->entries;
    struct profile_object *more = calloc(count * 2, sizeof(*more));

    if (more == NULL) {
        return false;
    }
    objects->entries = more;
    objects->mask = count * 2 - 1;
    for (size_t i = 0; i < count; i++) {
        if (old[i].thread != 0) {
            more[find(objects, old[i].thread, old[i].number)] = old[i];
        }
    }
    free(old);
    return true;
}

struct profile_object *
profile_objects_add(struct profile_objects *objects, struct hew_trace_object object)
{
    struct profile_object *entry;

    if ((objects->count + 1) * 2 > objects->mask + 1 && !grow(objects)) {
        return NULL;
    }
    entry = &objects->entries[find(objects, object.thread + 1, object.number)];
    objects->count += entry->thread == 0;
    entry->thread = object.thread + 1;
    entry->number = object.number;
    return entry;
}

bool
profile_objects_take(struct profile_objects *objects, struct hew_trace_object object, struct profile_object *taken)
{
    struct profile_object *entries = objects->entries;
    size_t mask = objects->mask, hole = find(objects, object.thread + 1, object.number);

    if (entries[hole].thread == 0) {
        return false;
    }
    *taken = entries[hole];
    objects->count--;
    for (size_t at = (hole + 1) & mask; entries[at].thread != 0; at = (at + 1) & mask) {
        size_t wanted = home(objects, entries[at].thread, entries[at].number);
        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            entries[hole] = entries[at];
            hole = at;
        }
    }
    entries[hole].thread = 0;
    return true;
}

void
profile_objects_prefetch(const struct profile_objects *objects, struct hew_trace_object object)
{
    const char *entry = (const char *)&objects->entries[home(objects, object.thread + 1, object.number)];

    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry + sizeof(struct profile_object) - 1, 1);
}
