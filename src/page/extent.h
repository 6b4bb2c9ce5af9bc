/* SPDX-License-Identifier: MIT */
/*
 * extent: one run of whole pages: a slab, a large object, or free pages in one of the stocks.
 *
 *     take ->  ACTIVE  -- give -->  DIRTY  -- decay -->  MUZZY  -- decay -->  RETAINED
 *                ^                    |                    |                     |
 *                +--------------------+--------------------+---------------------+
 *
 * Guarded by the lock of the page heap that owns it, except: what a slab counts belongs to its bin's lock, and a large
 * extent's fields belong to whoever holds the object.  Extents are never returned to the system, so a stale pointer to
 * one reads an extent.
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
    HEW_EXTENT_ACTIVE,   /* handed out */
    HEW_EXTENT_DIRTY,    /* free, contents and memory still there */
    HEW_EXTENT_MUZZY,    /* free, the system may take the memory when it likes */
    HEW_EXTENT_RETAINED, /* free, address space only: reads as zeros */
    HEW_EXTENT_TRANSIT,  /* being purged by a thread that has taken it out of its stock */
};

/* Bits kept inside the extent: enough for slabs of up to 256 regions. */
#define HEW_EXTENT_WORDS 4

struct hew_extent {
    uintptr_t address;
    size_t size;             /* bytes, whole pages */
    _Atomic uint32_t region; /* extents merge only within one mapping; other heaps look at it, see split.c */
    uint16_t arena;          /* this and the next two: hew_extent_owner() */
    uint8_t state;
    uint8_t code; /* while active: its class code in the address map */
    union {
        struct { /* every free state */
            union {
                struct hew_extent *next; /* the stock's bucket, as is `link` */
                const void *worker;      /* in transit: the token of the thread that has it */
            };
            struct hew_extent **link;
            struct hew_list age;      /* the stock's extents, oldest first */
            struct hew_list unmerged; /* in the stock's list, or next == NULL */
            bool moved; /* in transit: some of it came there by mremap, and then, all of it is mapped anew */
        } free;
        struct {            /* guarded by the bin's lock */
            uint64_t *bits; /* 1 = free region */
            uint32_t free_regions, first_word;
            union {
                struct hew_heap_node node; /* queued: in the bin's heap */
                struct hew_list full;      /* else, where the bin lists full slabs: in that list, unless current */
            };
            bool queued;
            bool reserved;     /* of the reserve, where it returns to: slab/reserve.h.  Never changes. */
            uint16_t seen;     /* free regions when slab/holes.c last looked, and */
            uint32_t quiet_ms; /* since when there have been so many */
            uint32_t absent;   /* 1 = a piece without memory, all of whose regions are free: slab/hole.h */
        } slab;
        struct {
            size_t usable; /* bytes that the program may use */
            void *sample;  /* what the profiler knows of it, or NULL */
            union {
                void *pool;               /* of code HEW_CODE_POOL: the range of a pool set that it is */
                struct hew_extent *below; /* on the shelf: the one that came there before */
            };
            bool guarded;         /* the last page is a guard; the extent stays as large as it is */
            struct hew_list link; /* in an arena that can be emptied: guarded by its page heap's lock */
            size_t fresh;         /* when handed out: bytes at its end that are known to read as zeros */
        } large;
    };
    bool zeroed : 1;       /* all of it is: when handed out, and while retained in a heap with hooks */
    bool data_segment : 1; /* from sbrk: cannot be unmapped or moved */
    bool decommitted : 1;  /* free, in a heap with hooks: to be committed by them before it is used */
    bool huge;             /* some of it may ask for huge pages, by the heap's own choice */
    uint64_t inline_bits[HEW_EXTENT_WORDS];
};

_Static_assert(offsetof(struct hew_extent, code) == offsetof(struct hew_extent, arena) + 3, "four bytes side by side");
_Static_assert(sizeof(struct hew_extent) <= 2 * HEW_CACHE_LINE, "an extent is two cache lines");

/* Arena, state and class code in one. */
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

/* Whether a large object of `code` begins at `address`, which `extent` is said to hold (NULL: nothing does), and is out:
 * the program's, or in some magazine or depot. */
HEW_INLINE bool
hew_extent_is_out(const struct hew_extent *extent, uintptr_t address, unsigned code)
{
    return extent != NULL && extent->address == address && extent->state == HEW_EXTENT_ACTIVE && extent->code == code &&
           hew_map_code(address) != HEW_CODE_NONE;
}

/* Whoever gives a large extent back claims it before anything else.  True exactly once for each time that it went out;
 * false: it has been freed already. */
HEW_INLINE bool
hew_extent_claim(const struct hew_extent *extent)
{
    return extent->state == HEW_EXTENT_ACTIVE && hew_map_clear_code(extent->address) != HEW_CODE_NONE;
}

#endif
