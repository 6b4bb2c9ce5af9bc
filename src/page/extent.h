/* SPDX-License-Identifier: MIT */
/*
 * extent: one run of whole pages: a slab, a large object, or free pages in one of the free lists (struct hew_stock).
 *
 * allocate -> ACTIVE  -- free -->  DIRTY  -- decay -->  MUZZY  -- decay -->  RETAINED
 *               ^                    |                    |                     |
 *               +--------------------+--------------------+---------------------+
 *
 * The lock of the owning page heap guards an extent, with two exceptions.  The bin's lock guards a slab's counters, and
 * the holder of a large object owns its extent's fields.  Extent structs are never returned to the system, so a stale
 * pointer to one still reads an extent.
 */
#ifndef HEW_PAGE_EXTENT_H
#define HEW_PAGE_EXTENT_H

#include "base/heap.h"
#include "base/list.h"
#include "meta/map.h"

#include <stdatomic.h>
#include <string.h>

enum hew_extent_state {
    HEW_EXTENT_UNUSED,   /* the struct describes no pages */
    HEW_EXTENT_ACTIVE,   /* allocated */
    HEW_EXTENT_DIRTY,    /* free, contents and memory still there */
    HEW_EXTENT_MUZZY,    /* free, the system may reclaim the memory at any time */
    HEW_EXTENT_RETAINED, /* free, address space only: reads as zeros */
    HEW_EXTENT_TRANSIT,  /* a thread has removed it from its free list to purge it */
};

/* Region bits inside the extent: enough for slabs of up to 256 regions. */
#define HEW_EXTENT_WORDS 4

struct hew_extent {
    uintptr_t address;
    size_t size;             /* bytes, whole pages */
    _Atomic uint32_t region; /* extents coalesce only within one mapping; other heaps read it, see split.c */
    uint16_t arena;          /* this and the next two: hew_extent_owner() */
    uint8_t state;
    uint8_t code; /* while active: its size-class index in the address map */
    union {
        struct { /* every free state */
            union {
                struct hew_extent *next; /* in the free list's bucket, as is `link` */
                const void *worker;      /* in transit: the token of the thread that works on it */
            };
            struct hew_extent **link;
            struct hew_list age;      /* the free list's extents, oldest first */
            struct hew_list unmerged; /* in the free list's list, or next == NULL */
            bool moved; /* in transit: mremap moved a part of it here; after the purge: all of it is mapped again */
        } free;
        struct {            /* guarded by the bin's lock */
            uint64_t *bits; /* 1 = free region */
            uint32_t free_regions, first_word;
            union {
                struct hew_heap_node node; /* queued: in the bin's heap */
                struct hew_list full;      /* otherwise, if the bin lists full slabs: in that list, unless current */
            };
            bool queued;
            bool reserved;     /* belongs to the reserve and returns there: slab/reserve.h.  Never changes. */
            uint16_t seen;     /* free regions at the last scan by slab/holes.c */
            uint32_t quiet_ms; /* time since which `seen` has not changed */
            uint32_t absent;   /* 1 = a piece without memory; all its regions are free: slab/hole.h */
        } slab;
        struct {
            size_t usable; /* bytes that the program may use */
            void *sample;  /* the profiler's record, or NULL */
            union {
                void *pool;               /* of index HEW_CODE_POOL: the pool-set range that it is */
                struct hew_extent *below; /* in the large-extent cache: the extent below it on the stack */
            };
            bool guarded;         /* the last page is a guard page; the extent keeps its size */
            bool back;            /* with hardening:check: of a cached class, and not with the program */
            struct hew_list link; /* in an arena that can be reset: guarded by its page heap's lock */
            size_t fresh;         /* when allocated: bytes at its end that are known to read as zeros */
        } large;
    };
    bool zeroed : 1;       /* all of it reads as zeros: valid when allocated, and while retained in a heap with hooks */
    bool data_segment : 1; /* from sbrk: cannot be unmapped or moved */
    bool decommitted : 1;  /* free, in a heap with hooks: the hooks must commit it before use */
    bool huge;             /* a part of it may ask for huge pages, by the heap's own choice */
    union {
        uint64_t inline_bits[HEW_EXTENT_WORDS];
        struct {                 /* of a slab with marks, whose bits are elsewhere: slab/mark.h */
            uint64_t reciprocal; /* that of its shape */
            uint8_t *first;      /* the first region's mark */
        } marks;
    };
};

_Static_assert(offsetof(struct hew_extent, code) == offsetof(struct hew_extent, arena) + 3, "four bytes side by side");
_Static_assert(sizeof(struct hew_extent) <= 2 * HEW_CACHE_LINE, "an extent is two cache lines");

/* Arena, state and size-class index in one word. */
HEW_INLINE uint32_t
hew_extent_owner(const struct hew_extent *extent)
{
    uint32_t owner;
    memcpy(&owner, &extent->arena, sizeof owner);
    return owner;
}

HEW_INLINE uintptr_t
hew_extent_end(const struct hew_extent *extent)
{
    return extent->address + extent->size;
}

/* Returns whether a large object of class `code` begins at `address` and is out: the program, a magazine or a per-CPU
 * cache has it.  `extent` is what the map reports there; NULL means nothing. */
HEW_INLINE bool
hew_extent_is_out(const struct hew_extent *extent, uintptr_t address, unsigned code)
{
    return extent != NULL && extent->address == address && extent->state == HEW_EXTENT_ACTIVE && extent->code == code &&
           hew_map_code(address) != HEW_CODE_NONE;
}

/* A thread that frees a large extent claims it first.  Returns true exactly once per allocation; false means that it
 * has already been freed. */
HEW_INLINE bool
hew_extent_claim(const struct hew_extent *extent)
{
    return extent->state == HEW_EXTENT_ACTIVE && hew_map_clear_code(extent->address) != HEW_CODE_NONE;
}

#endif
