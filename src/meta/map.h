/* SPDX-License-Identifier: MIT */
/*
 * map: maps any address to what lies there.
 *
 * Two maps.  The *code map* holds one byte, the size-class index, per 16 KiB granule of the whole user address space.
 * So free() learns an object's class with one load and no test; 0 means not our memory.  The code map is address space
 * only (8 GiB, on aarch64 16 GiB; readable, not writable, between guards).  A page of it becomes resident when the 64
 * MiB that it covers are first used.  The *extent map* is a two-level tree with one pointer per page, for the slow
 * paths.
 *
 *     address  47        30 29           12 11       0
 *              | leaf no.  | page in leaf  | offset   |      extent map: 1 MiB of roots, leaves of 2 MiB
 *              | code no.            14 |                    code map
 *
 * The lock of the page heap that owns the pages guards writes to both maps.  Any holder of an object there reads them.
 * The hand-over of the object orders write and read, so relaxed atomics are enough.
 *
 * If address space is limited (RLIMIT_AS), or the program wants a small virtual size, the code map is opened piece by
 * piece in a free range instead.  If a limit is set later, the map is narrowed once memory runs out.
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

/* Held while a window or a leaf is added; for fork. */
extern struct hew_mutex hew_map_lock;

/* Called once, at boot.  With `reserve`, reserves the whole code map's address space where a limit allows it.  False
 * when there is no address space even for the small form. */
bool hew_map_boot(bool reserve);

/* Makes both maps writable for [address, address + size).  False when the system refused. */
bool hew_map_cover(uintptr_t address, size_t size);

/* For a process limited to `limit` bytes of address space.  Unmaps the parts of the code map that no address within the
 * limit needs: new mappings then fit under it.  False when there is nothing to unmap.  The caller must hold no lock. */
bool hew_map_narrow(size_t limit);

/* For a program about to lock all its memory: makes the parts of the code map that lie far from any mapping unreadable,
 * since locking would make them resident.  A wild pointer given to free() may fault there from now on.  The caller must
 * hold no lock. */
void hew_map_close(void);

/* Estimates the bytes of both maps that `mapped` bytes of regions make resident: one pointer per page, one index per
 * granule, and their first pages.  Large objects leave most of theirs untouched. */
size_t hew_map_bytes(size_t mapped);

HEW_INLINE unsigned
hew_map_code(uintptr_t address)
{
    return __atomic_load_n(&hew_code_map[address >> HEW_LG_GRAIN], __ATOMIC_RELAXED);
}

/* Returns the extent whose page `address` is in; NULL or a stale extent for pages inside a large extent or not ours. */
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

/* The same for an address that hew_map_cover() has covered. */
HEW_INLINE struct hew_extent *
hew_map_extent_covered(uintptr_t address)
{
    hew_map_entry *leaf = atomic_load_explicit(&hew_map_roots[address >> HEW_LG_LEAF], memory_order_relaxed);
    return atomic_load_explicit(&leaf[(address >> HEW_LG_PAGE) & (HEW_LEAF_PAGES - 1)], memory_order_relaxed);
}

/* The last leaf read: the next address is hardly ever in another one. */
struct hew_map_window {
    uintptr_t number;
    hew_map_entry *leaf;
};
#define HEW_MAP_NO_WINDOW {UINTPTR_MAX, NULL}

/* hew_map_extent() for a series of addresses. */
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

/* Clears the size-class index, and returns the former one.  Of several threads that do this at once, one gets the index
 * and the others HEW_CODE_NONE.  `address` must be covered.  Relaxed, as above. */
HEW_INLINE unsigned
hew_map_clear_code(uintptr_t address)
{
    return __atomic_exchange_n(&hew_code_map[address >> HEW_LG_GRAIN], (uint8_t)HEW_CODE_NONE, __ATOMIC_RELAXED);
}

#endif
