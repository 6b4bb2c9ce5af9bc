/* SPDX-License-Identifier: MIT */
/*
 * stock: the free list of one state: its free extents, by size and by age.
 *
 * Owns      139 buckets, four per doubling of the page count, and a list of all extents from the oldest to the newest.
 * Promises  insert and remove are O(1); find reads only a few extents of each bucket.
 * Called    under the owning page heap's lock.
 * Not here  splitting, coalescing and the address map: split.c.
 */
#ifndef HEW_PAGE_STOCK_H
#define HEW_PAGE_STOCK_H

#include "page/extent.h"

#define HEW_STOCK_BUCKETS 139
/* A bucket counts up to 2^28 extents and 2^36 pages, all that there can be.  One word takes half the memory of two, and
 * each program touches some of it. */
#define HEW_STOCK_LG_EXTENTS 28

struct hew_stock_count {
    size_t extents, bytes;
};

struct hew_stock_bucket {
    struct hew_extent *first;
    uint64_t held; /* its extents in the low HEW_STOCK_LG_EXTENTS bits, their pages above */
};

struct hew_stock {
    uint64_t nonempty[(HEW_STOCK_BUCKETS + 63) / 64];
    struct hew_list oldest;   /* head of the age list */
    struct hew_list unmerged; /* members that may have neighbours in this free list */
    size_t bytes;
    size_t extents;
    struct hew_stock_bucket buckets[HEW_STOCK_BUCKETS];
};

HEW_INLINE struct hew_stock_count
hew_stock_count(const struct hew_stock *stock, unsigned bucket)
{
    uint64_t held = stock->buckets[bucket].held;
    return (struct hew_stock_count){held & (((uint64_t)1 << HEW_STOCK_LG_EXTENTS) - 1),
                                    held >> HEW_STOCK_LG_EXTENTS << HEW_LG_PAGE};
}

void hew_stock_begin(struct hew_stock *stock);

/* Inserts as the newest, or, when `beside` is not NULL, with the age of that member. */
void hew_stock_insert(struct hew_stock *stock, struct hew_extent *extent, struct hew_extent *beside);
void hew_stock_remove(struct hew_stock *stock, struct hew_extent *extent);

/* Records that the member's neighbours may be in this free list too, for a later hew_split_merge(). */
void hew_stock_mark_unmerged(struct hew_stock *stock, struct hew_extent *extent);

/* Changes a member's address and size, but not its age. */
void hew_stock_resize(struct hew_stock *stock, struct hew_extent *extent, uintptr_t address, size_t size);

/* Finds a member with room for `size` bytes at a multiple of `alignment`, in the smallest bucket that has one, and in
 * no bucket for more than `most` bytes.  It stays in the free list.  NULL when there is none. */
struct hew_extent *hew_stock_find(struct hew_stock *stock, size_t size, size_t alignment, size_t most);

/* Finds up to `most` members of the bucket of `size` and of those below, larger buckets first.  Returns how many. */
unsigned hew_stock_largest_below(struct hew_stock *stock, size_t size, struct hew_extent **extents, unsigned most);

/* Finds a member of exactly that size among the first few candidates. */
struct hew_extent *hew_stock_find_exact(struct hew_stock *stock, size_t size, size_t alignment);

HEW_INLINE struct hew_extent *
hew_stock_oldest(struct hew_stock *stock)
{
    struct hew_list *first = hew_list_first(&stock->oldest);
    return first == NULL ? NULL : HEW_CONTAINER(first, struct hew_extent, free.age);
}

/* Walks everything: checks that counts, order and links agree. */
bool hew_stock_valid(const struct hew_stock *stock);

#endif
