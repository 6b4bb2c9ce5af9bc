/* SPDX-License-Identifier: MIT */
/*
 * stock: the free extents of one state, found by size and by age.
 *
 * Owns      139 buckets, four per doubling of the page count, and a list of all from the oldest to the newest.
 * Promises  insert and remove O(1); find looks at no more than a few extents a bucket.
 * Called    under the owning page heap's lock.
 * Not here  splitting, merging and the address map: heap.c.
 */
#ifndef HEW_PAGE_STOCK_H
#define HEW_PAGE_STOCK_H

#include "page/extent.h"

#define HEW_STOCK_BUCKETS 139
/* A bucket counts 2^28 extents, of 2^36 pages, all that there are: half the memory that two words would take, of which each
 * program touches some. */
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
    struct hew_list unmerged; /* members that may have neighbours in the stock */
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

/* As the newest, or, when `beside` is not NULL, as old as that member. */
void hew_stock_insert(struct hew_stock *stock, struct hew_extent *extent, struct hew_extent *beside);
void hew_stock_remove(struct hew_stock *stock, struct hew_extent *extent);

/* The member's neighbours may be in the stock, too: some day somebody may want them to be one. */
void hew_stock_mark_unmerged(struct hew_stock *stock, struct hew_extent *extent);

/* A member changes its place or size without changing its age. */
void hew_stock_resize(struct hew_stock *stock, struct hew_extent *extent, uintptr_t address, size_t size);

/* A member in which `size` bytes fit at a multiple of `alignment`: of the smallest bucket that has one, and of none for
 * more than `most` bytes.  Still in the stock.  NULL when there is none. */
struct hew_extent *hew_stock_find(struct hew_stock *stock, size_t size, size_t alignment, size_t most);

/* Up to `most` members of the bucket that `size` is of, and of the ones below, larger buckets first.  Returns how many. */
unsigned hew_stock_largest_below(struct hew_stock *stock, size_t size, struct hew_extent **extents, unsigned most);

/* A member of just that size, among the first few that might be. */
struct hew_extent *hew_stock_find_exact(struct hew_stock *stock, size_t size, size_t alignment);

HEW_INLINE struct hew_extent *
hew_stock_oldest(struct hew_stock *stock)
{
    struct hew_list *first = hew_list_first(&stock->oldest);
    return first == NULL ? NULL : HEW_CONTAINER(first, struct hew_extent, free.age);
}

/* Walks everything: counts, order and links agree. */
bool hew_stock_valid(const struct hew_stock *stock);

#endif
