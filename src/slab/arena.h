/* SPDX-License-Identifier: MIT */
/*
 * arena: a bin for each small class, and pages from a heap; what a group of threads allocates from.
 *
 * Owns      the table of arenas.  Automatic ones are made when first needed and live as long as the process.
 * Locks     `hew_arenas_lock` (rank: arenas) guards changes of the table; its entries are atomic: release when made,
 *           acquire when read.
 * Not here  arenas that a program makes and destroys: arena_life.c.  Who uses which arena: cache/thread.c.
 */
#ifndef HEW_SLAB_ARENA_H
#define HEW_SLAB_ARENA_H

#include "base/options.h"
#include "meta/map.h"
#include "slab/arena_table.h"
#include "slab/bin.h"
#include "slab/holes.h"

/* Where malloc finds memory inside a hook while the first arena has hooks, too; no program sees that arena. */
#define HEW_ARENA_REFUGE (HEW_ARENAS_MAX - 1)
#define HEW_ARENA_NAME_BYTES 32
/* Nothing larger, and no alignment above, can lie in the address space; the pools of page/ are made for no more. */
#define HEW_LARGE_MAX ((size_t)1 << (HEW_LG_ADDRESS - 1))

/* Classes above the small ones that an object can have here. */
#define HEW_LARGE_CLASSES ((HEW_LG_ADDRESS - 1 - 14) * 4 + 1)

enum hew_arena_life {
    HEW_ARENA_LIVES,
    HEW_ARENA_BUSY, /* somebody resets or destroys it */
};

struct hew_arena {
    /* What is written when the arena is made stands together: an arena of which little is used is little memory.  What fork() looks at is
     * in the first line, and in that of pages.lock. */
    char name[HEW_ARENA_NAME_BYTES]; /* guarded by hew_arenas_lock */
    struct hew_list larges;          /* of a manual arena: all large objects.  Guarded by pages.lock */
    uint16_t index;
    bool manual;            /* a program made it.  Written before the arena is seen. */
    _Atomic uint8_t life;   /* enum hew_arena_life, changed under hew_arenas_lock */
    _Atomic uint32_t trims; /* of a manual arena: who trims it now; raised under hew_arenas_lock */
    /* A bit for each class whose bin has had a slab.  Sequentially consistent, for fork(): who brings the first slab writes this and
     * then, with the bin's lock, looks at the gate; who forks has closed the gate and then reads this. */
    _Atomic uint64_t used[(HEW_CODE_SMALL_LAST + 64) / 64];
    _Atomic uint32_t threads;          /* threads that allocate here: relaxed, a hint for the choice */
    _Atomic size_t large_bytes;        /* usable bytes of the large objects that are out: relaxed */
    _Atomic size_t oversize_threshold; /* larger requests go elsewhere, or are not kept when they are freed: relaxed */
    _Atomic size_t large_takes;        /* large objects so far, for san_guard_large: relaxed */
    _Atomic uint64_t born_ns;          /* relaxed: a snapshot may look at an arena that is destroyed and made anew */
    struct hew_page_client pages;      /* written before the arena is seen */
    struct hew_page_heap own_pages;    /* which an automatic arena shares with those whose numbers follow */
    struct hew_bin bins[HEW_CODE_SMALL_LAST + 1]; /* by code; 0 is unused */
    /* From here on small programs touch nothing: a page that they do not have. */
    /* Requests by code that threads made which are gone or have moved, and which no cache has counted: relaxed. */
    _Atomic uint64_t requests[HEW_CODES];
    struct hew_large_counts large[HEW_LARGE_CLASSES];
    struct hew_holes holes; /* guarded by hew_holes_lock */
};

extern struct hew_mutex hew_arenas_lock;

/* Under hew_arenas_lock: what arenas begin with that are made from now on.  Not `set`: as the options say. */
struct hew_arena_defaults {
    bool set;
    int64_t dirty_ms, muzzy_ms;
    enum hew_dss dss;
};
extern struct hew_arena_defaults hew_arena_defaults;

/* Under hew_arenas_lock: a new arena in the table.  NULL without memory. */
struct hew_arena *hew_arena_make(unsigned index, bool manual);

/* Whether a program has ever made an arena of its own: relaxed. */
extern _Atomic bool hew_arena_was_created;

/* Whether an arena was ever destroyed: relaxed, for the words of fatal messages. */
extern _Atomic bool hew_arena_was_destroyed;

/* Before anybody knows of it: the order of its bins' locks among all. */
void hew_arena_place_bins(struct hew_arena *arena, unsigned number);

/* Under hew_arenas_lock: an arena that owns nothing leaves the table, and is kept for the next one. */
void hew_arena_unmake(struct hew_arena *arena);

/* How many automatic arenas there may be: the options narenas, or narenas_ratio a usable CPU; fixed when first asked. */
unsigned hew_arena_limit(void);

/* The arena with that number, made if it is new; NULL without memory. */
struct hew_arena *hew_arena_get(unsigned index);

/* The automatic arenas' numbers, and all that were ever given to others. */
unsigned hew_arenas_count(void);

/* Under hew_arenas_lock: a number for one more arena, the lowest that is free; HEW_ARENAS_MAX when there is none. */
unsigned hew_arena_new_number(void);

/* The arena with the lowest number from `index` on, NULL when there is none: the table has holes. */
struct hew_arena *hew_arena_next(unsigned index);

#define HEW_EACH_ARENA(arena)                                                                                          \
    for (struct hew_arena *arena = hew_arena_next(0); arena != NULL; arena = hew_arena_next(arena->index + 1u))

/* Whether the heap that the arena takes its pages from is its own: so each heap is met once. */
HEW_INLINE bool
hew_arena_owns_pages(const struct hew_arena *arena)
{
    return arena->pages.heap == &arena->own_pages;
}

#define HEW_EACH_PAGE_OWNER(arena) HEW_EACH_ARENA(arena) if (hew_arena_owns_pages(arena))

/* The first class from `code` on whose bin has had a slab, a number above all when there is none.  Whoever looks after all bins
 * passes by the others: their memory, most of an arena's, stays untouched. */
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

/* The slabs that the arena's bins keep at hand without an object in them become dirty pages.  Without locks. */
void hew_arena_trim(struct hew_arena *arena);

/* Whether the arena's bins may be worked on without their locks held all the time: a manual one may not while it is reset or
 * destroyed, and who does that waits for those who have begun before.  They end it. */
bool hew_arena_begin_trim(struct hew_arena *arena);
void hew_arena_end_trim(struct hew_arena *arena);

/* For a thread that is inside a hook: an arena without hooks.  NULL without memory. */
struct hew_arena *hew_arena_without_hooks(void);

/* With the option percpu_arena: the arena of the CPU that the caller runs on; NULL without memory. */
struct hew_arena *hew_arena_of_cpu(void);

/* The automatic arena with the fewest threads, or with percpu_arena that of the CPU, has one thread more from now on; a new one
 * rather than sharing, while there may be more.  NULL without memory.  Threads that are born together count each other. */
struct hew_arena *hew_arena_join_least_loaded(void);

/* Where a thread of `own` finds a large object of `size` bytes: with the option oversize_threshold, or its like for one
 * arena, the largest have an arena of their own. */
struct hew_arena *hew_arena_of_oversize(struct hew_arena *own);

HEW_INLINE struct hew_arena *
hew_arena_for_large(struct hew_arena *own, size_t size)
{
    bool usual = size < atomic_load_explicit(&own->oversize_threshold, memory_order_relaxed);
    return HEW_LIKELY(usual) ? own : hew_arena_of_oversize(own);
}

#endif
