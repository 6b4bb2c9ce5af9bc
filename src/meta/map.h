/* SPDX-License-Identifier: MIT */
/*
 * map: from any address to what lies there.
 *
 * Two maps.  The *code map* holds one byte per 16 KiB grain of the whole user address space, so that free() learns an
 * object's class with one load and no test: 0 means nothing of ours.  It is address space only (8 GiB, on aarch64 16;
 * readable, not writable, between guards); a page of it becomes real when the 64 MiB that it covers are first used.  The *extent map* is
 * a two-level tree with one pointer per page, for the slow paths.
 *
 *     address  47        30 29           12 11       0
 *              | leaf no.  | page in leaf  | offset   |      extent map: 1 MiB of roots, leaves of 2 MiB
 *              | code no.            14 |                    code map
 *
 * Both are written under the lock of the page heap that owns the pages, and read by whoever holds an object there: the
 * hand-over of the object orders the two, so relaxed atomics are enough.
 * When address space is limited (RLIMIT_AS), or the program wants a small virtual size, the code map is opened piece by piece in a
 * free range instead; when it comes to be limited later, the map is narrowed once memory runs out.
 */
#ifndef HEW_META_MAP_H
#define HEW_META_MAP_H

#include "base/size_class.h"
#include "os/mutex.h"

#define HEW_LG_LEAF 30
#define HEW_LEAF_PAGES ((size_t)1 << (HEW_LG_LEAF - HEW_LG_PAGE))

struct hew_extent;
typedef _Atomic(struct hew_extent *) hew_map_entry;

extern HEW_HIDDEN uint8_t *hew_code_map;
extern HEW_HIDDEN _Atomic(hew_map_entry *) hew_map_roots[(size_t)1 << (HEW_LG_ADDRESS - HEW_LG_LEAF)];

/* Taken while a window or a leaf is added; for fork. */
extern struct hew_mutex hew_map_lock;

/* Once, at boot.  With `reserve` all of the code map's address space is reserved where a limit allows it.  False when there is no
 * address space even for the small form. */
bool hew_map_boot(bool reserve);

/* Makes both maps writable for [address, address + size).  False when the system refused. */
bool hew_map_cover(uintptr_t address, size_t size);

/* The process may not have more than `limit` bytes of address space: gives back the parts of the code map's that nothing within the
 * limit needs, so that new mappings fit under it.  False when there is nothing to give.  No lock may be held. */
bool hew_map_narrow(size_t limit);

/* The program is about to lock all its memory: the parts of the code map that lie far from whatever is mapped can no longer be
 * read, for locking would bring them in.  A wild pointer given to free() may fault there from now on.  No lock may be held. */
void hew_map_close(void);

/* Bytes of both maps that `mapped` bytes of regions make real: a page pointer a page and a code a grain, and their first
 * pages.  An estimate: large objects leave most of theirs untouched. */
size_t hew_map_bytes(size_t mapped);

HEW_INLINE unsigned
hew_map_code(uintptr_t address)
{
    return __atomic_load_n(&hew_code_map[address >> HEW_LG_GRAIN], __ATOMIC_RELAXED);
}

/* The extent whose page `address` is in; NULL or a stale one for pages inside a large extent or not ours. */
HEW_INLINE struct hew_extent *
hew_map_extent(uintptr_t address)
{
    if (HEW_UNLIKELY(address >> HEW_LG_ADDRESS != 0)) {
        return NULL;
    }
    hew_map_entry *leaf = atomic_load_explicit(&hew_map_roots[address >> HEW_LG_LEAF], memory_order_acquire);
    if (HEW_UNLIKELY(leaf == NULL)) {
        return NULL;
    }
    return atomic_load_explicit(&leaf[(address >> HEW_LG_PAGE) & (HEW_LEAF_PAGES - 1)], memory_order_relaxed);
}

/* The same for an address that has been covered. */
HEW_INLINE struct hew_extent *
hew_map_extent_covered(uintptr_t address)
{
    hew_map_entry *leaf = atomic_load_explicit(&hew_map_roots[address >> HEW_LG_LEAF], memory_order_relaxed);
    return atomic_load_explicit(&leaf[(address >> HEW_LG_PAGE) & (HEW_LEAF_PAGES - 1)], memory_order_relaxed);
}

/* The leaf that was looked at last: the next address is hardly ever in another one. */
struct hew_map_window {
    uintptr_t number;
    hew_map_entry *leaf;
};
#define HEW_MAP_NO_WINDOW {UINTPTR_MAX, NULL}

/* hew_map_extent() for one address after the other. */
HEW_INLINE struct hew_extent *
hew_map_extent_near(struct hew_map_window *window, uintptr_t address)
{
    uintptr_t number = address >> HEW_LG_LEAF;
    if (HEW_UNLIKELY(number != window->number)) {
        bool inside = address >> HEW_LG_ADDRESS == 0;
        hew_map_entry *leaf = inside ? atomic_load_explicit(&hew_map_roots[number], memory_order_acquire) : NULL;
        if (leaf == NULL) {
            return NULL;
        }
        window->number = number;
        window->leaf = leaf;
    }
    hew_map_entry *entry = &window->leaf[(address >> HEW_LG_PAGE) & (HEW_LEAF_PAGES - 1)];
    return atomic_load_explicit(entry, memory_order_relaxed);
}

/* `address` must be covered. */
HEW_INLINE void
hew_map_set_extent(uintptr_t address, struct hew_extent *extent)
{
    hew_map_entry *leaf = atomic_load_explicit(&hew_map_roots[address >> HEW_LG_LEAF], memory_order_relaxed);
    HEW_ASSERT(1, leaf != NULL);
    atomic_store_explicit(&leaf[(address >> HEW_LG_PAGE) & (HEW_LEAF_PAGES - 1)], extent, memory_order_relaxed);
}

HEW_INLINE void
hew_map_set_code(uintptr_t address, unsigned code)
{
    HEW_ASSERT(1, code < HEW_CODES &&
                      atomic_load_explicit(&hew_map_roots[address >> HEW_LG_LEAF], memory_order_relaxed) != NULL);
    __atomic_store_n(&hew_code_map[address >> HEW_LG_GRAIN], (uint8_t)code, __ATOMIC_RELAXED);
}

/* From now on nothing is there.  Returns what was: of several who do this at once, one gets the code and the others
 * HEW_CODE_NONE.  `address` must be covered.  Relaxed, as above. */
HEW_INLINE unsigned
hew_map_clear_code(uintptr_t address)
{
    return __atomic_exchange_n(&hew_code_map[address >> HEW_LG_GRAIN], (uint8_t)HEW_CODE_NONE, __ATOMIC_RELAXED);
}

#endif
