/* SPDX-License-Identifier: MIT */
/*
 * pages: the part of the back end that all front ends share.
 *
 * Owns      the heap's address range, the byte map (1 B for each 16 KiB of the whole address space: the class of the
 *           objects there, 0 for everything that is not ours), the page -> slab table, the pool of free runs (buddies
 *           of 1, 2, 4 or 8 pages, lowest address first), the size classes, and memory for metadata.
 * Promises  a run given back is the first choice for any class; fresh address space is used only when no free run fits.
 * Called    from any thread; the pool and the metadata each have one lock.
 * Not here  objects: slabs.c (array, chain) and front_pages.c.
 */
#ifndef PROTO_PAGES_H
#define PROTO_PAGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "proto.h"

#define PAGE_SHIFT 14
#define PAGE_SIZE ((size_t)1 << PAGE_SHIFT)
#define HEAP_PAGES ((size_t)1 << 20)
#define CLASSES 64
#define ORDERS 4
#define SLAB_REGIONS_MIN 8

#define HIDDEN __attribute__((visibility("hidden")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* A set of page numbers with the lowest member found in three steps. */
struct bitset {
    uint64_t top[4];
    uint64_t middle[HEAP_PAGES >> 12];
    uint64_t low[HEAP_PAGES >> 6];
};

struct class_info {
    uint32_t size;
    uint32_t regions;    /* objects in a slab */
    uint32_t order;      /* the slab is 16 KiB << order */
    uint32_t reciprocal; /* ceil(2^32 / size): index = offset * reciprocal >> 32 */
    uint32_t cache_max;  /* most objects that a thread may keep: clamp(64 KiB / size, 2, 1023) */
};

extern HIDDEN uint8_t *page_map; /* indexed by address >> PAGE_SHIFT */
extern HIDDEN uintptr_t heap_base;
extern HIDDEN size_t heap_fresh;           /* pages of the heap used so far; table entries below it are never NULL */
extern HIDDEN void *page_slab[HEAP_PAGES]; /* indexed by (address - heap_base) >> PAGE_SHIFT */
extern HIDDEN uint8_t class_of[PROTO_SMALL_MAX / 8 + 1];
extern HIDDEN struct class_info classes[CLASSES];

HIDDEN void bitset_add(struct bitset *set, size_t member);
HIDDEN void bitset_remove(struct bitset *set, size_t member);
/* The lowest member, or HEAP_PAGES when the set is empty. */
HIDDEN size_t bitset_lowest(const struct bitset *set);

/* Sets up everything above, once; `dead` is what the table says for pages that no slab uses. */
HIDDEN void pages_boot(void *dead);
/* A run of 1 << order pages for `slab`, entered in both maps. */
HIDDEN uintptr_t pages_take(unsigned order, unsigned class, void *slab);
HIDDEN void pages_give(uintptr_t base, unsigned order);
HIDDEN void pages_purge(void);

/* Zeroed at first use only; sizes are rounded to a power of two. */
HIDDEN void *meta_take(size_t size);
HIDDEN void meta_give(void *block, size_t size);
/* Address space for a large, sparsely used table; page aligned, zero. */
HIDDEN void *meta_reserve(size_t size);

_Noreturn HIDDEN void die(const char *message);

static inline size_t
page_of(const void *object)
{
    return ((uintptr_t)object - heap_base) >> PAGE_SHIFT;
}

#endif
