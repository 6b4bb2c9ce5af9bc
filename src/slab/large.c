/* SPDX-License-Identifier: MIT */
/*
 * large: the records of a large object as it is allocated and freed: its counts, its guard page, its place in a manual
 * arena's list.  The page heap owns the pages.
 */
#include "slab/large.h"

#include "page/gather.h"

/* Lists large objects of a manual arena, so that the arena can be reset. */
static void
list(struct hew_arena *arena, struct hew_extent *extent)
{
    if (HEW_UNLIKELY(arena->manual)) {
        hew_mutex_lock(&arena->pages.heap->lock);
        hew_list_push_back(&arena->larges, &extent->large.link);
        hew_mutex_unlock(&arena->pages.heap->lock);
    }
}

static void
unlist(struct hew_arena *arena, struct hew_extent *extent)
{
    if (HEW_UNLIKELY(arena->manual)) {
        hew_mutex_lock(&arena->pages.heap->lock);
        hew_list_remove(&extent->large.link);
        hew_mutex_unlock(&arena->pages.heap->lock);
    }
}

/* Returns whether this large object gets an inaccessible page behind it: one in san_guard_large (an option).  Not with
 * hooks, which would not know of it. */
static bool
guard_due(struct hew_arena *arena)
{
    size_t every = hew_options.san_guard_large;
    return HEW_UNLIKELY(every != 0) && arena->pages.heap->hooks == NULL &&
           atomic_fetch_add_explicit(&arena->large_takes, 1, memory_order_relaxed) % every == 0;
}

static void
large_guard(struct hew_extent *extent)
{
    extent->large.guarded = hew_os_guard((void *)(hew_extent_end(extent) - hew_system_page), hew_system_page);
}

/* False: the page cannot be made accessible again. */
static bool
unguard(struct hew_extent *extent)
{
    return !extent->large.guarded ||
           hew_os_make_writable((void *)(hew_extent_end(extent) - hew_system_page), hew_system_page);
}

/* Of several threads that free one object, one continues. */
static void
large_claim(const struct hew_extent *extent)
{
    if (HEW_UNLIKELY(!hew_extent_claim(extent))) {
        hew_describe_twice_and_end("free", extent->address);
    }
}

/* All extents have one size. */
static void
count_taken(struct hew_arena *arena, const struct hew_extent *extent, unsigned count)
{
    atomic_fetch_add_explicit(&arena->large[hew_large_index(extent->size)].nmalloc, count, memory_order_relaxed);
    atomic_fetch_add_explicit(&arena->large_bytes, count * extent->large.usable, memory_order_relaxed);
}

/* All extents have one size, and are not freed yet. */
static void
count_given(struct hew_arena *arena, const struct hew_extent *extent, unsigned count)
{
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && extent->code > HEW_CODE_SMALL_LAST &&
                      hew_arena_at(extent->arena) == arena);
    HEW_ASSERT(1, extent->large.usable <= extent->size);
    /* release: pairs with the acquire of a reader of both counts, which so finds no more frees than allocations */
    atomic_fetch_add_explicit(&arena->large[hew_large_index(extent->size)].ndalloc, count, memory_order_release);
    atomic_fetch_sub_explicit(&arena->large_bytes, count * extent->large.usable, memory_order_relaxed);
}

HEW_NOINLINE void
hew_large_change_arena(struct hew_arena *arena, struct hew_extent *extent)
{
    count_given(hew_arena_at(extent->arena), extent, 1);
    extent->arena = arena->index;
    count_taken(arena, extent, 1);
    if (extent->code == HEW_CODE_SLOW) { /* no thread cache counts the request */
        atomic_fetch_add_explicit(&arena->large[hew_large_index(extent->size)].nrequests, 1, memory_order_relaxed);
    }
}

/* Prepares an object that is out, with `usable` usable bytes. */
static void
large_begin(struct hew_arena *arena, struct hew_extent *extent, size_t usable)
{
    extent->arena = arena->index;
    extent->large.usable = usable;
    extent->large.sample = NULL;
    extent->large.guarded = false;
    extent->large.back = false;
    list(arena, extent);
}

struct hew_extent *
hew_large_take(struct hew_arena *arena, size_t size, size_t alignment, unsigned code)
{
    size_t usable = code != HEW_CODE_SLOW ? hew_code_size(code) : hew_large_usable(size);
    bool guarded = guard_due(arena);
    struct hew_extent *extent = hew_page_take(arena->pages.heap, usable + (guarded ? hew_system_page : 0), alignment,
                                              guarded ? HEW_CODE_SLOW : code);
    if (extent != NULL) {
        HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && extent->size >= usable &&
                          (code != HEW_CODE_SLOW || usable >= size));
        large_begin(arena, extent, usable);
        count_taken(arena, extent, 1);
        if (guarded) {
            large_guard(extent);
        }
    }
    return extent;
}

/* Allocates extents of exactly the class's size from the page heap, if it has some. */
static unsigned
take_same(struct hew_arena *arena, unsigned code, struct hew_extent **extents, unsigned most)
{
    size_t size = hew_code_size(code);
    unsigned taken =
        hew_options.san_guard_large != 0 ? 0 : hew_page_take_same(arena->pages.heap, size, code, extents, most);
    for (unsigned i = 0; i < taken; i++) {
        large_begin(arena, extents[i], size);
    }
    if (taken != 0) {
        count_taken(arena, extents[0], taken);
    }
    return taken;
}

struct hew_extent *
hew_large_take_warm(struct hew_arena *arena, size_t size, size_t alignment, unsigned code)
{
    struct hew_extent *extent = hew_large_take(arena, size, alignment, code);
    if (extent == NULL || HEW_LIKELY(extent->large.fresh < HEW_GATHER_LEAST) || extent->large.guarded ||
        HEW_LIKELY(hew_page_gather(arena->pages.heap, extent))) {
        return extent;
    }
    hew_large_abandon(extent);
    return hew_large_take(arena, size, alignment, code);
}

/* Reuses extents from the large-extent cache.  They have counted as out all the time.  One that was sampled has lost
 * its class. */
static HEW_NOINLINE unsigned
take_kept(struct hew_arena *arena, unsigned code, struct hew_extent **extents, unsigned most)
{
    unsigned taken = hew_shelf_take_some(&arena->pages.heap->shelf, hew_code_size(code), extents, most);
    for (unsigned i = 0; i < taken; i++) {
        if (HEW_UNLIKELY(extents[i]->code != code)) {
            hew_page_recode(arena->pages.heap, extents[i], code);
        }
        if (HEW_UNLIKELY(extents[i]->arena != arena->index)) {
            hew_large_change_arena(arena, extents[i]);
        }
        extents[i]->zeroed = false;
        extents[i]->large.fresh = 0;
    }
    return taken;
}

unsigned
hew_large_take_some(struct hew_arena *arena, unsigned code, void **objects, unsigned wanted)
{
    struct hew_extent *extents[HEW_LARGE_AT_ONCE];
    unsigned most = wanted < HEW_LARGE_AT_ONCE ? wanted : HEW_LARGE_AT_ONCE;
    unsigned taken = hew_shelf_is_filled(&arena->pages.heap->shelf) ? take_kept(arena, code, extents, most) : 0;
    if (taken == 0 && most != 1) { /* hew_large_take_warm() finds a single one there, too */
        taken = take_same(arena, code, extents, most);
    }
    if (taken == 0) {
        struct hew_extent *extent = hew_large_take_warm(arena, hew_code_size(code), HEW_PAGE, code);
        objects[0] = extent == NULL ? NULL : (void *)extent->address;
        return extent != NULL;
    }
    for (unsigned i = 0; i < taken; i++) {
        objects[taken - 1 - i] = (void *)extents[i]->address;
    }
    return taken;
}

void
hew_large_hide(void *object, unsigned code)
{
    const struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    if (HEW_UNLIKELY(!hew_extent_is_out(extent, (uintptr_t)object, code) || !hew_extent_claim(extent))) {
        hew_describe_and_end("free", (uintptr_t)object);
    }
}

void
hew_large_give(struct hew_extent *extent)
{
    if (!hew_large_keep(extent)) {
        hew_large_give_back(extent);
    }
}

/* In an arena that a program made, memory of at least its oversize_threshold is returned immediately.  An automatic
 * arena has sent such requests elsewhere. */
static void
give_pages(struct hew_arena *arena, struct hew_extent *const *extents, unsigned count)
{
    size_t threshold = atomic_load_explicit(&arena->oversize_threshold, memory_order_relaxed);
    if (HEW_LIKELY(!arena->manual || extents[0]->size < threshold)) {
        hew_page_give_some(arena->pages.heap, extents, count);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!hew_page_give_through(arena->pages.heap, extents[i])) {
            hew_page_give(arena->pages.heap, extents[i]);
        }
    }
}

/* Claims the freed object, counts it, and returns its arena. */
static struct hew_arena *
take_back(struct hew_extent *extent)
{
    struct hew_arena *arena = hew_arena_at(extent->arena);
    large_claim(extent);
    unlist(arena, extent);
    count_given(arena, extent, 1);
    return arena;
}

void
hew_large_give_empty(struct hew_extent *extent)
{
    HEW_ASSERT(1, !extent->large.guarded);
    hew_page_give_empty(take_back(extent)->pages.heap, extent);
}

void
hew_large_give_back(struct hew_extent *extent)
{
    struct hew_arena *arena = take_back(extent);
    if (HEW_LIKELY(unguard(extent))) {
        give_pages(arena, &extent, 1);
    } else {
        hew_page_discard(arena->pages.heap, extent);
    }
}

void
hew_large_discard(struct hew_extent *extent)
{
    hew_page_discard(take_back(extent)->pages.heap, extent);
}

/* Keeps them for the next requests of their class. */
static bool
keep_some(struct hew_arena *arena, struct hew_extent *const *extents, unsigned count)
{
    enum hew_shelf_put done = hew_shelf_put_some(&arena->pages.heap->shelf, extents, count);
    if (HEW_UNLIKELY(done == HEW_SHELF_PUT_LOOK)) {
        hew_page_look(arena->pages.heap);
    }
    return done != HEW_SHELF_REFUSED;
}

void
hew_large_give_some(struct hew_extent *const *extents, unsigned count)
{
    struct hew_arena *arena = hew_arena_at(extents[0]->arena);
    bool whole = true; /* each may be reused unchanged */
    for (unsigned i = 0; i < count; i++) {
        large_claim(extents[i]);
        unlist(arena, extents[i]);
        whole = whole && extents[i]->large.usable == extents[i]->size;
    }
    if (whole && keep_some(arena, extents, count)) {
        return;
    }
    count_given(arena, extents[0], count);
    give_pages(arena, extents, count);
}

void
hew_large_abandon(struct hew_extent *extent)
{
    struct hew_arena *arena = hew_arena_at(extent->arena);
    unlist(arena, extent);
    count_given(arena, extent, 1);
    hew_page_abandon(arena->pages.heap, extent);
}

void
hew_large_set_usable(struct hew_extent *extent, size_t usable)
{
    HEW_ASSERT(1, usable != 0 && usable <= extent->size);
    size_t more = usable - extent->large.usable;
    extent->large.usable = usable;
    atomic_fetch_add_explicit(&hew_arena_at(extent->arena)->large_bytes, more, memory_order_relaxed);
}

void
hew_large_recode(struct hew_extent *extent, size_t before, unsigned code, size_t size)
{
    struct hew_arena *arena = hew_arena_at(extent->arena);
    if (before != extent->size) {
        atomic_fetch_add_explicit(&arena->large[hew_large_index(before)].ndalloc, 1, memory_order_release);
        atomic_fetch_add_explicit(&arena->large[hew_large_index(extent->size)].nmalloc, 1, memory_order_relaxed);
    }
    hew_page_recode(arena->pages.heap, extent, code);
    hew_large_set_usable(extent, hew_large_usable(size));
}
