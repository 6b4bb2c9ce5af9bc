/* SPDX-License-Identifier: MIT */
/* touched: see touched.h. */
#include "replay/touched.h"

#include <stdlib.h>

bool
hew_touched_add(struct hew_touched *touched, struct hew_trace_object object, uint64_t pages)
{
    if (touched->count == touched->capacity) {
        size_t capacity = touched->capacity == 0 ? 64 : touched->capacity * 2;
        struct hew_touched_object *more = realloc(touched->objects, capacity * sizeof(*more));
        if (more == NULL) {
            return false;
        }
        touched->objects = more;
        touched->capacity = capacity;
    }
    touched->objects[touched->count++] =
        (struct hew_touched_object){.object = object, .pages = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX};
    return true;
}

static int
compare(struct hew_trace_object a, struct hew_trace_object b)
{
    if (a.thread != b.thread) {
        return a.thread < b.thread ? -1 : 1;
    }
    return a.number < b.number ? -1 : a.number > b.number;
}

static int
by_object(const void *left, const void *right)
{
    const struct hew_touched_object *a = left, *b = right;

    return compare(a->object, b->object);
}

void
hew_touched_sort(struct hew_touched *touched)
{
    if (touched->count > 1) {
        qsort(touched->objects, touched->count, sizeof(*touched->objects), by_object);
    }
}

bool
hew_touched_take(struct hew_touched *touched, struct hew_trace_object object, uint32_t *pages)
{
    size_t low = 0, high = touched->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(touched->objects[middle].object, object) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == touched->count || compare(touched->objects[low].object, object) != 0 || touched->objects[low].told) {
        return false;
    }
    touched->objects[low].told = true;
    *pages = touched->objects[low].pages;
    return true;
}

void
hew_touched_end(struct hew_touched *touched)
{
    free(touched->objects);
    *touched = (struct hew_touched){0};
}
