/* SPDX-License-Identifier: MIT */
/*
 * lookup: the implementation of hew/pool_lookup.h: building the entries of a lookup, and searching by them.
 *
 * An entry is the answer for the first size of its stretch, and so the lower bound for all sizes in it.  The next entry
 * is the upper bound.
 */
#include "base/bits.h"
#include "pool/lookup_plan.h"

#include <errno.h>

static bool
has_entries(const struct hew_pool_lookup_plan *plan)
{
    return plan->method == HEW_POOL_LOOKUP_FLAT || plan->method == HEW_POOL_LOOKUP_DOUBLING;
}

static size_t
doublings_size(const struct hew_pool_lookup_plan *plan)
{
    return plan->method == HEW_POOL_LOOKUP_DOUBLING ? sizeof plan->doublings : 0;
}

static size_t
room_of(const struct hew_pool_lookup_plan *plan)
{
    return has_entries(plan) ? doublings_size(plan) + plan->entries * sizeof(uint16_t) : 0;
}

HEW_EXPORT size_t
hew_pool_lookup_room(const size_t *sizes, unsigned count, enum hew_pool_lookup_method method)
{
    struct hew_pool_lookup_plan plan;
    hew_pool_lookup_plan(&plan, sizes, count, method);
    return room_of(&plan);
}

/* In a direct table, entry i is for the sizes up to i << shift; otherwise stretch i begins just after that size. */
static void
fill_flat(const struct hew_pool_lookup_plan *plan, const size_t *sizes, unsigned count, uint16_t *entries)
{
    unsigned index = 0;
    for (uint32_t i = 0; i < plan->entries; i++) {
        size_t first = ((size_t)i << plan->shift) + !plan->direct;
        while (index < count && sizes[index] < first) {
            index++;
        }
        entries[i] = (uint16_t)index;
    }
    if (!plan->direct) { /* the last stretch may begin beyond the largest size_t */
        entries[plan->entries - 1] = (uint16_t)count;
    }
}

static void
fill_doublings(const struct hew_pool_lookup_plan *plan, const size_t *sizes, unsigned count, uint16_t *entries)
{
    unsigned index = 0;
    uint32_t at = 0;
    for (unsigned doubling = 0; doubling < HEW_POOL_DOUBLINGS; doubling++) {
        unsigned shift = plan->doublings[doubling].shift;
        size_t first = doubling == 0 ? 0 : (size_t)1 << doubling; /* minus 1, as below */
        for (uint32_t i = 0; i < UINT32_C(1) << (doubling - shift); i++) {
            while (index < count && sizes[index] - 1 < first + ((size_t)i << shift)) {
                index++;
            }
            entries[at++] = (uint16_t)index;
        }
    }
    entries[at] = (uint16_t)count;
}

HEW_EXPORT int
hew_pool_lookup_prepare(struct hew_pool_lookup *lookup, const size_t *sizes, unsigned count,
                        enum hew_pool_lookup_method method, void *room, size_t room_size)
{
    struct hew_pool_lookup_plan plan;
    hew_pool_lookup_plan(&plan, sizes, count, method);
    if (plan.method == HEW_POOL_LOOKUP_AUTO) {
        return EINVAL;
    }
    if (room_size < room_of(&plan)) {
        return ENOSPC;
    }
    *lookup = (struct hew_pool_lookup){.sizes = sizes, .count = count, .method = plan.method};
    if (!has_entries(&plan)) {
        return 0;
    }
    uint16_t *entries = (uint16_t *)((char *)room + doublings_size(&plan));
    lookup->entries = entries;
    lookup->shift = plan.shift;
    if (plan.method == HEW_POOL_LOOKUP_DOUBLING) {
        fill_doublings(&plan, sizes, count, entries);
        lookup->doublings = __builtin_memcpy(room, plan.doublings, sizeof plan.doublings);
        return 0;
    }
    fill_flat(&plan, sizes, count, entries);
    if (plan.direct) {
        lookup->round = ((size_t)1 << plan.shift) - 1;
        lookup->direct_end = sizes[count - 1] + 1;
    }
    return 0;
}

/* Searches the stretch of `entry`; the answer may be the first size after it. */
static unsigned
search_stretch(const struct hew_pool_lookup *lookup, size_t entry, size_t size)
{
    unsigned low = lookup->entries[entry], within = lookup->entries[entry + 1] - low;
    if (HEW_LIKELY(within <= 1)) {
        return low + (lookup->sizes[low] < size);
    }
    return low + hew_pool_lookup_by_midpoint(lookup->sizes + low, within, size);
}

HEW_EXPORT unsigned
hew_pool_lookup_search(const struct hew_pool_lookup *lookup, size_t size)
{
    if (size > lookup->sizes[lookup->count - 1]) {
        return lookup->count;
    }
    size_t before = size - (size != 0);
    switch (lookup->method) {
    case HEW_POOL_LOOKUP_FLAT:
        return search_stretch(lookup, before >> lookup->shift, size);
    case HEW_POOL_LOOKUP_DOUBLING: {
        unsigned doubling = hew_bits_floor_log2(before | 1);
        const struct hew_pool_lookup_doubling *place = &lookup->doublings[doubling];
        return search_stretch(lookup, place->first + ((before & ~((size_t)1 << doubling)) >> place->shift), size);
    }
    case HEW_POOL_LOOKUP_INTERPOLATION:
        return hew_pool_lookup_by_interpolation(lookup->sizes, lookup->count, size);
    case HEW_POOL_LOOKUP_HYBRID:
        return hew_pool_lookup_by_hybrid(lookup->sizes, lookup->count, size);
    default:
        return hew_pool_lookup_by_midpoint(lookup->sizes, lookup->count, size);
    }
}
