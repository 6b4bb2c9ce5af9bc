/* SPDX-License-Identifier: MIT */
/*
 * stock: lists by size find a fit in a few steps, whatever the number of extents.  One list by age returns the memory
 * first that has been idle longest.
 */
#include "page/stock.h"

#define LOOKS 8        /* extents examined in a bucket before the next one is tried */
#define EXACT_LOOKS 64 /* the same where only one size will do */

/* The bucket whose extents have at least this many pages: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 ... */
static unsigned
bucket_of(size_t size)
{
    size_t pages = size >> HEW_LG_PAGE;
    if (pages < 4) {
        return (unsigned)pages - 1;
    }
    unsigned top = hew_bits_floor_log2(pages);
    return 3 + (top - 2) * 4 + (unsigned)((pages >> (top - 2)) & 3);
}

/* What one extent adds to its bucket's `held`. */
static uint64_t
share(const struct hew_extent *extent)
{
    return ((uint64_t)(extent->size >> HEW_LG_PAGE) << HEW_STOCK_LG_EXTENTS) + 1;
}

static void
link_bucket(struct hew_stock *stock, struct hew_extent *extent)
{
    unsigned bucket = bucket_of(extent->size);
    struct hew_stock_bucket *head = &stock->buckets[bucket];
    extent->free.next = head->first;
    extent->free.link = &head->first;
    if (head->first != NULL) {
        head->first->free.link = &extent->free.next;
    }
    head->first = extent;
    head->held += share(extent);
    stock->nonempty[bucket / 64] |= UINT64_C(1) << bucket % 64;
}

static void
unlink_bucket(struct hew_stock *stock, struct hew_extent *extent)
{
    unsigned bucket = bucket_of(extent->size);
    *extent->free.link = extent->free.next;
    if (extent->free.next != NULL) {
        extent->free.next->free.link = extent->free.link;
    }
    stock->buckets[bucket].held -= share(extent);
    if (stock->buckets[bucket].first == NULL) {
        stock->nonempty[bucket / 64] &= ~(UINT64_C(1) << bucket % 64);
    }
}

void
hew_stock_begin(struct hew_stock *stock)
{
    hew_list_begin(&stock->oldest);
    hew_list_begin(&stock->unmerged);
}

void
hew_stock_insert(struct hew_stock *stock, struct hew_extent *extent, struct hew_extent *beside)
{
    HEW_ASSERT(1, extent->size != 0 && extent->state >= HEW_EXTENT_DIRTY && extent->state <= HEW_EXTENT_RETAINED);
    link_bucket(stock, extent);
    hew_list_insert_after(beside == NULL ? stock->oldest.previous : &beside->free.age, &extent->free.age);
    extent->free.unmerged.next = NULL;
    stock->bytes += extent->size;
    stock->extents++;
}

void
hew_stock_mark_unmerged(struct hew_stock *stock, struct hew_extent *extent)
{
    hew_list_push_back(&stock->unmerged, &extent->free.unmerged);
}

void
hew_stock_remove(struct hew_stock *stock, struct hew_extent *extent)
{
    HEW_ASSERT(1, *extent->free.link == extent && stock->extents != 0 && stock->bytes >= extent->size);
    unlink_bucket(stock, extent);
    hew_list_remove(&extent->free.age);
    if (extent->free.unmerged.next != NULL) {
        hew_list_remove(&extent->free.unmerged);
    }
    stock->bytes -= extent->size;
    stock->extents--;
}

void
hew_stock_resize(struct hew_stock *stock, struct hew_extent *extent, uintptr_t address, size_t size)
{
    HEW_ASSERT(1, *extent->free.link == extent && size != 0 && stock->bytes >= extent->size);
    unlink_bucket(stock, extent);
    stock->bytes += size - extent->size;
    extent->address = address;
    extent->size = size;
    link_bucket(stock, extent);
}

/* The lowest of the first few members of a bucket that fit. */
static struct hew_extent *
lowest_fit(struct hew_extent *extent, size_t size, size_t alignment)
{
    struct hew_extent *best = NULL;
    for (unsigned look = 0; extent != NULL && look < LOOKS; look++, extent = extent->free.next) {
        uintptr_t start = hew_bits_round_up(extent->address, alignment);
        if (start + size <= hew_extent_end(extent) && start >= extent->address &&
            (best == NULL || extent->address < best->address)) {
            best = extent;
        }
    }
    return best;
}

struct hew_extent *
hew_stock_find(struct hew_stock *stock, size_t size, size_t alignment, size_t most)
{
    unsigned bucket = bucket_of(size), last = bucket_of(most);
    if (bucket >= HEW_STOCK_BUCKETS) { /* larger than the address space: no extent is */
        return NULL;
    }
    uint64_t word = stock->nonempty[bucket / 64] & (~UINT64_C(0) << bucket % 64);
    for (unsigned group = bucket / 64;;) {
        while (word != 0) {
            unsigned next = group * 64 + (unsigned)__builtin_ctzll(word);
            if (next > last) {
                return NULL;
            }
            struct hew_extent *found = lowest_fit(stock->buckets[next].first, size, alignment);
            if (found != NULL) {
                return found;
            }
            word &= word - 1;
        }
        if (++group >= sizeof stock->nonempty / sizeof stock->nonempty[0]) {
            return NULL;
        }
        word = stock->nonempty[group];
    }
}

unsigned
hew_stock_largest_below(struct hew_stock *stock, size_t size, struct hew_extent **extents, unsigned most)
{
    unsigned bucket = bucket_of(size), count = 0;
    bucket = bucket < HEW_STOCK_BUCKETS ? bucket : HEW_STOCK_BUCKETS - 1;
    uint64_t word = stock->nonempty[bucket / 64] & (~UINT64_C(0) >> (63 - bucket % 64));
    for (unsigned group = bucket / 64;; word = stock->nonempty[--group]) {
        while (word != 0) {
            unsigned next = 63 - (unsigned)__builtin_clzll(word);
            struct hew_extent *extent = stock->buckets[group * 64 + next].first;
            for (; extent != NULL && count < most; extent = extent->free.next) {
                extents[count++] = extent;
            }
            word &= ~(UINT64_C(1) << next);
        }
        if (group == 0 || count == most) {
            return count;
        }
    }
}

struct hew_extent *
hew_stock_find_exact(struct hew_stock *stock, size_t size, size_t alignment)
{
    unsigned bucket = bucket_of(size);
    struct hew_extent *extent = bucket < HEW_STOCK_BUCKETS ? stock->buckets[bucket].first : NULL;
    for (unsigned look = 0; extent != NULL && look < EXACT_LOOKS; look++, extent = extent->free.next) {
        if (extent->size == size && (extent->address & (alignment - 1)) == 0) {
            return extent;
        }
    }
    return NULL;
}

bool
hew_stock_valid(const struct hew_stock *stock)
{
    size_t bytes = 0, extents = 0, aged = 0;
    for (unsigned bucket = 0; bucket < HEW_STOCK_BUCKETS; bucket++) {
        bool marked = (stock->nonempty[bucket / 64] >> bucket % 64 & 1) != 0;
        const struct hew_stock_bucket *head = &stock->buckets[bucket];
        struct hew_stock_count told = hew_stock_count(stock, bucket), count = {0, 0};
        for (struct hew_extent *extent = head->first; extent != NULL; extent = extent->free.next) {
            if (bucket_of(extent->size) != bucket || *extent->free.link != extent) {
                return false;
            }
            count.bytes += extent->size;
            count.extents++;
        }
        if (marked != (head->first != NULL) || count.bytes != told.bytes || count.extents != told.extents) {
            return false;
        }
        bytes += count.bytes;
        extents += count.extents;
    }
    for (struct hew_list *node = stock->oldest.next; node != &stock->oldest; node = node->next) {
        aged++;
    }
    return bytes == stock->bytes && extents == stock->extents && aged == extents;
}
