/* SPDX-License-Identifier: MIT */
/* slabs: see slabs.h. */
#include "slabs.h"

#define PREFETCH_AHEAD 8

struct bin bins[ARENAS][CLASSES];

static struct slab dead_slab;

void
slabs_boot(void)
{
    pages_boot(&dead_slab);
    for (unsigned arena = 0; arena < ARENAS; arena++) {
        for (unsigned class = 1; class < CLASSES && classes[class].size != 0; class ++) {
            struct bin *bin = &bins[arena][class];
            pthread_mutex_init(&bin->lock, NULL);
            bin->slabs = meta_reserve(sizeof(struct bitset));
            bin->class = class;
        }
    }
}

static size_t
slab_header_size(uint32_t regions)
{
    return sizeof(struct slab) + (regions + 63) / 64 * sizeof(uint64_t);
}

static struct slab *
slab_birth(struct bin *bin)
{
    const struct class_info *info = &classes[bin->class];
    struct slab *slab = meta_take(slab_header_size(info->regions));
    slab->bin = bin;
    slab->reciprocal = info->reciprocal;
    slab->regions = info->regions;
    slab->free_count = info->regions;
    slab->first = 0;
    slab->class = bin->class;
    slab->order = info->order;
    for (uint32_t word = 0; word < info->regions / 64; word++) {
        slab->free[word] = ~0ull;
    }
    if (info->regions % 64 != 0) {
        slab->free[info->regions / 64] = (1ull << info->regions % 64) - 1;
    }
    slab->base = pages_take(info->order, bin->class, slab);
    bitset_add(bin->slabs, page_of((void *)slab->base));
    return slab;
}

static void
slab_death(struct slab *slab)
{
    bitset_remove(slab->bin->slabs, page_of((void *)slab->base));
    pages_give(slab->base, slab->order);
    meta_give(slab, slab_header_size(slab->regions));
}

/* A bin keeps one slab without live objects, the lowest, so that a burst does not carve and return one each time. */
static void
slab_retire(struct slab *slab)
{
    struct bin *bin = slab->bin;
    struct slab *dead = slab;
    if (bin->empty == NULL) {
        bin->empty = slab;
        return;
    }
    if (slab->base < bin->empty->base) {
        dead = bin->empty;
        bin->empty = slab;
    }
    slab_death(dead);
}

/* Takes up to `count` regions, lowest first, and writes them downwards from `end`. */
static size_t
slab_take(struct slab *slab, void **end, size_t count)
{
    size_t size = classes[slab->class].size;
    size_t got = 0;
    uint32_t word = slab->first;
    uint32_t left = slab->free_count < count ? slab->free_count : (uint32_t)count;
    slab->free_count -= left;
    while (got < left) {
        uint64_t bits = slab->free[word];
        while (bits != 0 && got < left) {
            size_t region = word * 64 + (size_t)__builtin_ctzll(bits);
            bits &= bits - 1;
            *--end = (void *)(slab->base + region * size);
            got++;
        }
        slab->free[word] = bits;
        word += bits == 0;
    }
    slab->first = word;
    return got;
}

void
bin_fill(struct bin *bin, void **out, size_t count)
{
    pthread_mutex_lock(&bin->lock);
    while (count != 0) {
        size_t page = bitset_lowest(bin->slabs);
        struct slab *slab = page != HEAP_PAGES ? page_slab[page] : slab_birth(bin);
        if (slab == bin->empty) {
            bin->empty = NULL;
        }
        count -= slab_take(slab, out + count, count);
        if (slab->free_count == 0) {
            bitset_remove(bin->slabs, page_of((void *)slab->base));
        }
    }
    pthread_mutex_unlock(&bin->lock);
}

/*
 * Returns the first of `objects` and those after it that are in the same slab, and says how many those are.  Objects
 * freed together were mostly allocated together, so counters and bin are brought up to date once for a run of them.
 */
static size_t
slab_give(struct slab *slab, void **objects, size_t count)
{
    uintptr_t base = slab->base;
    uintptr_t bytes = PAGE_SIZE << slab->order;
    uint64_t reciprocal = slab->reciprocal;
    uint32_t first = slab->first;
    size_t given = 0;
    uintptr_t offset = (uintptr_t)objects[0] - base;
    do {
        uint32_t region = (uint32_t)(offset * reciprocal >> 32);
        uint64_t bit = 1ull << region % 64;
        uint64_t word = slab->free[region / 64];
        if (unlikely(word & bit)) {
            die("double free");
        }
        slab->free[region / 64] = word | bit;
        first = region / 64 < first ? region / 64 : first;
        given++;
    } while (given < count && (offset = (uintptr_t)objects[given] - base) < bytes);
    slab->first = first;
    if (slab->free_count == 0) {
        bitset_add(slab->bin->slabs, page_of((void *)base));
    }
    slab->free_count += (uint32_t)given;
    if (slab->free_count == slab->regions) {
        slab_retire(slab);
    }
    return given;
}

void
bin_flush(void **objects, size_t count)
{
    struct bin *locked = NULL;
    for (size_t i = 0; i < count;) {
        if (i + PREFETCH_AHEAD < count) {
            __builtin_prefetch(page_slab[page_of(objects[i + PREFETCH_AHEAD])]);
        }
        struct slab *slab = page_slab[page_of(objects[i])];
        if (slab->bin != locked) {
            if (locked != NULL) {
                pthread_mutex_unlock(&locked->lock);
            }
            locked = slab->bin;
            if (locked == NULL) {
                die("free of a page without a slab");
            }
            pthread_mutex_lock(&locked->lock);
        }
        i += slab_give(slab, objects + i, count - i);
    }
    if (locked != NULL) {
        pthread_mutex_unlock(&locked->lock);
    }
}

void
bins_trim(void)
{
    for (unsigned arena = 0; arena < ARENAS; arena++) {
        for (unsigned class = 1; class < CLASSES && classes[class].size != 0; class ++) {
            struct bin *bin = &bins[arena][class];
            pthread_mutex_lock(&bin->lock);
            if (bin->empty != NULL) {
                slab_death(bin->empty);
                bin->empty = NULL;
            }
            pthread_mutex_unlock(&bin->lock);
        }
    }
}
