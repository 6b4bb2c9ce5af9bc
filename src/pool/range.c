/* SPDX-License-Identifier: MIT */
#include "pool/range.h"

#include "alloc/request.h"
#include "meta/memory.h"
#include "slab/large.h"

static size_t
alignment_of(const struct hew_pool_set *set)
{
    return set->options.alignment > HEW_GRAIN ? set->options.alignment : HEW_GRAIN;
}

/* Enters the range's pages in both maps. */
static void
show(const struct hew_pool_range *range, unsigned code, struct hew_extent *extent)
{
    for (uintptr_t page = range->address; page < range->address + range->size; page += HEW_PAGE) {
        hew_map_set_extent(page, extent);
        hew_map_set_code(page, code);
    }
}

/* From the first arena, because a program may empty and destroy arenas that it made. */
static struct hew_extent *
take_of_arena(size_t size, size_t alignment)
{
    struct hew_arena *arena = hew_arena_get(0);
    return arena == NULL || size > HEW_LARGE_MAX ? NULL : hew_large_take(arena, size, alignment, HEW_CODE_SLOW);
}

static bool
begin_in_arena(struct hew_pool_range *range, size_t size)
{
    size_t alignment = alignment_of(range->set);
    struct hew_extent *extent = take_of_arena(size, alignment);
    if (extent == NULL) {
        hew_request_relieve();
        extent = take_of_arena(size, alignment);
    }
    if (extent == NULL) {
        return false;
    }
    range->extent = extent;
    range->address = extent->address;
    return true;
}

/* Whether memory from a caller's source can be entered in the maps: it is aligned, in range, and not hew's. */
static bool
can_be_shown(uintptr_t address, size_t size, size_t alignment)
{
    if ((address & (alignment - 1)) != 0 || !hew_map_cover(address, size)) {
        return false;
    }
    for (uintptr_t grain = address; grain < address + size; grain += HEW_GRAIN) {
        if (hew_map_code(grain) != HEW_CODE_NONE) {
            return false;
        }
    }
    return true;
}

static bool
begin_from_source(struct hew_pool_range *range, size_t size, const struct hew_pool_source *source)
{
    size_t alignment = alignment_of(range->set);
    void *piece = source->take(source->context, size, alignment);
    if (piece == NULL) {
        return false;
    }
    if (!can_be_shown((uintptr_t)piece, size, alignment)) {
        source->give(source->context, piece, size);
        return false;
    }
    range->address = (uintptr_t)piece;
    range->extent = &range->own;
    range->own = (struct hew_extent){.address = range->address, .size = size, .state = HEW_EXTENT_ACTIVE};
    range->own.large.usable = size;
    return true;
}

struct hew_pool_range *
hew_pool_range_take(struct hew_pool_set *set, size_t size, struct hew_pool_block *block)
{
    struct hew_pool_range *range = hew_meta_take(sizeof *range);
    if (range == NULL) {
        return NULL;
    }
    range->set = set;
    range->size = size;
    range->block = block;
    range->reciprocal = block == NULL ? 0 : block->reciprocal;
    range->number = block == NULL ? 0 : block->number;
    bool begun =
        set->options.source == NULL ? begin_in_arena(range, size) : begin_from_source(range, size, set->options.source);
    if (!begun) {
        hew_meta_give(range, sizeof *range);
        return NULL;
    }
    range->extent->large.pool = range;
    range->extent->code = HEW_CODE_POOL;
    show(range, HEW_CODE_POOL, range->extent);
    return range;
}

void
hew_pool_range_give(struct hew_pool_set *set, struct hew_pool_range *range)
{
    if (range->extent == &range->own) {
        const struct hew_pool_source *source = set->options.source;
        show(range, HEW_CODE_NONE, NULL);
        source->give(source->context, (void *)range->address, range->size);
    } else {
        /* Inside a large extent the extent map may have stale entries; the code map may not. */
        show(range, HEW_CODE_NONE, range->extent);
        hew_page_recode(hew_arena_at(range->extent->arena)->pages.heap, range->extent, HEW_CODE_SLOW);
        hew_large_give(range->extent);
    }
    hew_meta_give(range, sizeof *range);
}
