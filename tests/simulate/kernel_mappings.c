/* SPDX-License-Identifier: MIT */
/* kernel_mappings: see kernel_mappings.h. */
#include "kernel_mappings.h"

#include "kernel.h"

#include <string.h>

struct mapping mappings[KERNEL_MAPPINGS_MOST + 4];
unsigned mappings_count;

unsigned
mappings_at(uintptr_t address)
{
    unsigned low = 0, high = mappings_count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (mappings[middle].end > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

size_t
mappings_inside(uintptr_t begin, uintptr_t end)
{
    size_t bytes = 0;
    for (unsigned i = mappings_at(begin); i < mappings_count && mappings[i].begin < end; i++) {
        uintptr_t from = mappings[i].begin > begin ? mappings[i].begin : begin;
        bytes += (mappings[i].end < end ? mappings[i].end : end) - from;
    }
    return bytes;
}

int
mappings_growth(uintptr_t begin, uintptr_t end, int protection)
{
    unsigned i = mappings_at(begin);
    bool within = i < mappings_count && mappings[i].begin <= begin && end <= mappings[i].end;
    if (within) {
        bool cuts_below = mappings[i].begin < begin, cuts_above = end < mappings[i].end;
        return (int)(cuts_below && cuts_above) + (protection >= 0 && (cuts_below || cuts_above));
    }
    return protection >= 0;
}

static void
insert(unsigned at, struct mapping mapping)
{
    memmove(&mappings[at + 1], &mappings[at], (mappings_count - at) * sizeof *mappings);
    mappings[at] = mapping;
    mappings_count++;
}

static void
remove_some(unsigned at, unsigned count)
{
    memmove(&mappings[at], &mappings[at + count], (mappings_count - at - count) * sizeof *mappings);
    mappings_count -= count;
}

/* Nothing of [begin, end) is mapped.  Returns where a mapping of it would stand. */
static unsigned
cut_out(uintptr_t begin, uintptr_t end)
{
    unsigned first = mappings_at(begin);
    if (first < mappings_count && mappings[first].begin < begin) {
        struct mapping rest = {end, mappings[first].end, mappings[first].protection};
        mappings[first++].end = begin;
        if (rest.end > end) {
            insert(first, rest);
            return first;
        }
    }
    unsigned last = first;
    while (last < mappings_count && mappings[last].end <= end) {
        last++;
    }
    if (last < mappings_count && mappings[last].begin < end) {
        mappings[last].begin = end;
    }
    remove_some(first, last - first);
    return first;
}

/* The mapping and the one before it become one where they are alike. */
static void
join(unsigned at)
{
    if (at > 0 && at < mappings_count && mappings[at - 1].end == mappings[at].begin &&
        mappings[at - 1].protection == mappings[at].protection) {
        mappings[at - 1].end = mappings[at].end;
        remove_some(at, 1);
    }
}

void
mappings_set(uintptr_t begin, uintptr_t end, int protection)
{
    unsigned at = cut_out(begin, end);
    if (protection >= 0) {
        insert(at, (struct mapping){begin, end, protection});
        join(at + 1);
        join(at);
    }
}
