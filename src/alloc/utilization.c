/* SPDX-License-Identifier: MIT */
/*
 * utilization: reads a slab without owning it.  The slab may be freed at any time, so the functions lock the bin first
 * and then check that the slab still exists.
 */
#include "alloc/utilization.h"

struct hew_extent *
hew_utilization_holder(const void *address)
{
    uintptr_t place = (uintptr_t)address;
    struct hew_extent *extent = hew_map_extent(place);
    /* Only the map knows about a large object that was freed a moment ago. */
    bool inside = extent != NULL && extent->state == HEW_EXTENT_ACTIVE && extent->address <= place &&
                  place < hew_extent_end(extent) && hew_map_code(extent->address) != HEW_CODE_NONE;
    return inside ? extent : NULL;
}

/* Locks the bin of a slab.  NULL, with nothing locked: it is not a slab, or was just freed. */
static struct hew_bin *
lock_bin_of(struct hew_extent *slab)
{
    unsigned code = slab->code;
    if (code == HEW_CODE_NONE || code > HEW_CODE_SMALL_LAST) {
        return NULL;
    }
    struct hew_arena *arena = hew_arena_at(slab->arena);
    if (arena == NULL) {
        return NULL;
    }
    struct hew_bin *bin = &arena->bins[code];
    hew_mutex_lock(&bin->lock);
    if (slab->state == HEW_EXTENT_ACTIVE && slab->code == code) {
        return bin;
    }
    hew_mutex_unlock(&bin->lock);
    return NULL;
}

static struct hew_utilization
large_extent(const struct hew_extent *extent)
{
    return (struct hew_utilization){.free_regions = 0, .regions = 1, .bytes = extent->size};
}

/* Bin lock held. */
static struct hew_utilization
slab_extent(const struct hew_extent *slab)
{
    return (struct hew_utilization){
        .free_regions = slab->slab.free_regions, .regions = hew_slab_shape(slab)->regions, .bytes = slab->size};
}

static size_t
taken_in(const struct hew_bin *bin)
{
    return (size_t)(bin->counts.nmalloc - bin->counts.ndalloc);
}

bool
hew_utilization_query(const void *address, struct hew_utilization_bin *answer)
{
    struct hew_extent *extent = hew_utilization_holder(address);
    *answer = (struct hew_utilization_bin){0};
    if (extent == NULL) {
        return false;
    }
    struct hew_bin *bin = lock_bin_of(extent);
    if (bin == NULL) {
        answer->extent = large_extent(extent);
        return true;
    }
    answer->extent = slab_extent(extent);
    answer->regions = bin->counts.slabs * answer->extent.regions;
    answer->free_regions = answer->regions - taken_in(bin);
    answer->current = bin->current == NULL ? NULL : (void *)bin->current->address;
    hew_mutex_unlock(&bin->lock);
    return true;
}

size_t
hew_utilization_query_batch(void *const *addresses, size_t count, struct hew_utilization *answers)
{
    size_t foreign = 0;
    for (size_t i = 0; i < count; i++) {
        struct hew_extent *extent = hew_utilization_holder(addresses[i]);
        struct hew_bin *bin = extent == NULL ? NULL : lock_bin_of(extent);
        if (extent == NULL) {
            answers[i] = (struct hew_utilization){0};
            foreign++;
        } else if (bin == NULL) {
            answers[i] = large_extent(extent);
        } else {
            answers[i] = slab_extent(extent);
            hew_mutex_unlock(&bin->lock);
        }
    }
    return foreign;
}

/*
 * Lock held.  Slabs are compared by their number of used regions.  A slab up to an eighth above the mean of the partly
 * used slabs still counts as less used; otherwise nothing would move if all slabs were equally full.
 */
static bool
less_used(const struct hew_bin *bin, const struct hew_extent *slab)
{
    size_t regions = hew_slab_shape(slab)->regions, free_here = slab->slab.free_regions;
    size_t free_in_current = bin->current == NULL ? 0 : bin->current->slab.free_regions;
    size_t free_in_all = bin->counts.slabs * regions - taken_in(bin);
    size_t taken_in_partly_used = bin->counts.nonfull * regions - (free_in_all - free_in_current);
    return slab != bin->current && free_here != 0 && free_in_all > free_here &&
           (regions - free_here) * bin->counts.nonfull <= taken_in_partly_used + taken_in_partly_used / 8;
}

bool
hew_utilization_should_move(const void *object)
{
    struct hew_extent *extent = hew_utilization_holder(object);
    struct hew_bin *bin = extent == NULL ? NULL : lock_bin_of(extent);
    if (bin == NULL) {
        return false;
    }
    bool move = less_used(bin, extent);
    hew_mutex_unlock(&bin->lock);
    return move;
}
