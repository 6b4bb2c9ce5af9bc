/* SPDX-License-Identifier: MIT */
/*
 * arena: a bin for each small class, and pages from a page heap: the memory that a group of threads allocates from.
 *
 * Owns      the table of arenas.  Automatic arenas are made when first needed and live as long as the process.
 * Locks     `hew_arenas_lock` (rank: arenas) guards changes of the table.  Its entries are atomic: release when made,
 *           acquire when read.
 * Not here  arenas that a program makes and destroys: arena_life.c.  Which thread uses which arena: cache/thread.c.
 */
#ifndef HEW_SLAB_ARENA_H
#define HEW_SLAB_ARENA_H

#include "base/options.h"
#include "meta/map.h"
#include "slab/arena_table.h"
#include "slab/bin.h"
#include "slab/holes.h"

/* Serves malloc inside a hook while the first arena has hooks, too; programs never see this arena. */
#define HEW_ARENA_REFUGE (HEW_ARENAS_MAX - 1)
#define HEW_ARENA_NAME_BYTES 32
/* No object can be larger, and no alignment higher, in the address space; page/ is built for no more. */
#define HEW_LARGE_MAX ((size_t)1 << (HEW_LG_ADDRESS - 1))

/* Large classes that an object can have here. */
#define HEW_LARGE_CLASSES ((HEW_LG_ADDRESS - 1 - 14) * 4 + 1)

enum hew_arena_life {
    HEW_ARENA_LIVES,
    HEW_ARENA_BUSY, /* a thread resets or destroys it */
};

struct hew_arena {
    /* The fields written at creation are adjacent, so that a little-used arena touches little memory.  The first cache
     * line, with that of pages.lock, holds all that fork() reads. */
    char name[HEW_ARENA_NAME_BYTES]; /* guarded by hew_arenas_lock */
    struct hew_list larges;          /* of a manual arena: all large objects.  Guarded by pages.lock */
    uint16_t index;
    bool manual;            /* a program made it.  Written before the arena is published. */
    _Atomic uint8_t life;   /* enum hew_arena_life, changed under hew_arenas_lock */
    _Atomic uint32_t trims; /* of a manual arena: trims in progress; raised under hew_arenas_lock */
    /* A bit for each class whose bin has had a slab.  Sequentially consistent, for fork(): a thread that brings the
     * first slab writes this and then, with the bin's lock, reads the gate.  A forking thread closes the gate and then
     * reads this. */
    _Atomic uint64_t used[(HEW_CODE_SMALL_LAST + 64) / 64];
    _Atomic uint32_t threads;          /* threads that allocate here: relaxed, a hint for the choice of an arena */
    _Atomic size_t large_bytes;        /* usable bytes of the large objects that are out: relaxed */
    _Atomic size_t oversize_threshold; /* larger requests go elsewhere, or are returned when freed: relaxed */
    _Atomic size_t large_takes;        /* large objects so far, for san_guard_large: relaxed */
    _Atomic uint64_t born_ns;       /* relaxed: a snapshot may read an arena that is being destroyed and made again */
    struct hew_page_client pages;   /* written before the arena is published */
    struct hew_page_heap own_pages; /* an automatic arena shares it with the arenas of the next numbers */
    struct hew_bin bins[HEW_CODE_SMALL_LAST + 1]; /* by code; 0 is unused */
    /* Small programs touch nothing from here on, so they never have this page. */
    /* Requests by size-class index from threads that have ended or changed arena, which no cache has counted:
     * relaxed. */
    _Atomic uint64_t requests[HEW_CODES];
    struct hew_large_counts large[HEW_LARGE_CLASSES];
    struct hew_holes holes; /* guarded by hew_holes_lock */
};

extern struct hew_mutex hew_arenas_lock;

/* Under hew_arenas_lock: settings for arenas made from now on.  Not `set`: the options apply. */
struct hew_arena_defaults {
    bool set;
    int64_t dirty_ms, muzzy_ms;
    enum hew_dss dss;
};
extern struct hew_arena_defaults hew_arena_defaults;

/* hew_arenas_lock held.  Makes an arena and enters it in the table.  NULL without memory. */
struct hew_arena *hew_arena_make(unsigned index, bool manual);

/* True once a program has made an arena of its own: relaxed. */
extern _Atomic bool hew_arena_was_created;

/* True once an arena has been destroyed: relaxed, for the text of fatal messages. */
extern _Atomic bool hew_arena_was_destroyed;

/* Sets the lock order of the arena's bins.  Called before the arena is published. */
void hew_arena_place_bins(struct hew_arena *arena, unsigned number);

/* hew_arenas_lock held.  Takes an arena that owns nothing out of the table, and keeps its struct for reuse. */
void hew_arena_unmake(struct hew_arena *arena);

/* The maximum number of automatic arenas: the option narenas, or narenas_ratio per usable CPU; fixed at the first
 * call. */
unsigned hew_arena_limit(void);

/* Returns the arena with that number, made if it is new; NULL without memory. */
struct hew_arena *hew_arena_get(unsigned index);

/* The count of arena numbers: those of automatic arenas, and all ever given to others. */
unsigned hew_arenas_count(void);

/* hew_arenas_lock held.  Returns the lowest free number for one more arena; HEW_ARENAS_MAX when there is none. */
unsigned hew_arena_new_number(void);

/* Returns the arena with the lowest number from `index` on, or NULL: the table has holes. */
struct hew_arena *hew_arena_next(unsigned index);

#define HEW_EACH_ARENA(arena)                                                                                          \
    for (struct hew_arena *arena = hew_arena_next(0); arena != NULL; arena = hew_arena_next(arena->index + 1u))

/* Returns whether the arena owns the page heap that it uses, so that a walk visits each heap once. */
HEW_INLINE bool
hew_arena_owns_pages(const struct hew_arena *arena)
{
    return arena->pages.heap == &arena->own_pages;
}

#define HEW_EACH_PAGE_OWNER(arena) HEW_EACH_ARENA(arena) if (hew_arena_owns_pages(arena))

/* Returns the first class from `code` on whose bin has had a slab, or a number above all classes.  A walk over all bins
 * skips the others, so that their memory, most of an arena's, stays untouched. */
HEW_INLINE unsigned
hew_arena_next_used(const struct hew_arena *arena, unsigned code)
{
    for (unsigned word = code / 64; word < sizeof arena->used / sizeof *arena->used; code = ++word * 64) {
        uint64_t left = atomic_load(&arena->used[word]) >> code % 64;
        if (left != 0) {
            return code + (unsigned)__builtin_ctzll(left);
        }
    }
    return HEW_CODES;
}

#define HEW_EACH_USED_BIN(arena, code)                                                                                 \
    for (unsigned code = hew_arena_next_used(arena, 1); code < HEW_CODES; code = hew_arena_next_used(arena, code + 1))

/* Part of hew_arena_life_after_fork(). */
void hew_arenas_after_fork(void);

/* Turns the empty slabs that the arena's bins keep into dirty pages.  Without locks. */
void hew_arena_trim(struct hew_arena *arena);

/* Begins work on the arena's bins that does not hold their locks all the time.  Returns false for a manual arena
 * that is being reset or destroyed; reset and destroy wait for work that began before.  hew_arena_end_trim() ends the
 * work. */
bool hew_arena_begin_trim(struct hew_arena *arena);
void hew_arena_end_trim(struct hew_arena *arena);

/* For a thread inside a hook: returns an arena without hooks.  NULL without memory. */
struct hew_arena *hew_arena_without_hooks(void);

/* With the option percpu_arena: returns the arena of the caller's CPU; NULL without memory. */
struct hew_arena *hew_arena_of_cpu(void);

/* Counts one more thread in the automatic arena with the fewest threads (with percpu_arena: in that of the CPU), and
 * returns it.  Makes a new arena rather than sharing one, up to the limit.  NULL without memory.  Threads that start at
 * the same time count each other. */
struct hew_arena *hew_arena_join_least_loaded(void);

/* Returns the arena for a large object of `size` bytes of a thread of `own`.  With the option oversize_threshold, or
 * the arena's own setting, the largest objects have a separate arena. */
struct hew_arena *hew_arena_of_oversize(struct hew_arena *own);

HEW_INLINE struct hew_arena *
hew_arena_for_large(struct hew_arena *own, size_t size)
{
    bool usual = size < atomic_load_explicit(&own->oversize_threshold, memory_order_relaxed);
    return HEW_LIKELY(usual) ? own : hew_arena_of_oversize(own);
}

#endif
