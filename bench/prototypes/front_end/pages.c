/* SPDX-License-Identifier: MIT */
/* pages: see pages.h. */
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef CACHE_BYTES
#define CACHE_BYTES 65536 /* most that a thread may keep of a class */
#endif
#define CACHE_OBJECTS_MAX 1023
#define META_CHUNK ((size_t)1 << 20)

uint8_t *page_map;
uintptr_t heap_base;
size_t heap_fresh;
void *page_slab[HEAP_PAGES];
uint8_t class_of[PROTO_SMALL_MAX / 8 + 1];
struct class_info classes[CLASSES];

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bitset *pool_free[ORDERS];
static size_t pool_taken; /* pages in slabs */
static void *page_dead;

static pthread_mutex_t meta_lock = PTHREAD_MUTEX_INITIALIZER;
static void *meta_free[32]; /* by log2 of the size */
static char *meta_next;
static char *meta_end;

void
die(const char *message)
{
    fprintf(stderr, "proto: %s\n", message);
    abort();
}

void *
meta_reserve(size_t size)
{
    void *space = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) {
        die("no address space");
    }
    return space;
}

static unsigned
meta_order(size_t size)
{
    return size <= 64 ? 6 : 64 - (unsigned)__builtin_clzl(size - 1);
}

void *
meta_take(size_t size)
{
    unsigned order = meta_order(size);
    pthread_mutex_lock(&meta_lock);
    void *block = meta_free[order];
    if (block != NULL) {
        meta_free[order] = *(void **)block;
    } else {
        size_t bytes = (size_t)1 << order;
        if ((size_t)(meta_end - meta_next) < bytes) {
            size_t chunk = bytes > META_CHUNK ? bytes : META_CHUNK;
            meta_next = meta_reserve(chunk);
            meta_end = meta_next + chunk;
        }
        block = meta_next;
        meta_next += bytes;
    }
    pthread_mutex_unlock(&meta_lock);
    return block;
}

void
meta_give(void *block, size_t size)
{
    unsigned order = meta_order(size);
    pthread_mutex_lock(&meta_lock);
    *(void **)block = meta_free[order];
    meta_free[order] = block;
    pthread_mutex_unlock(&meta_lock);
}

void
bitset_add(struct bitset *set, size_t member)
{
    set->low[member >> 6] |= 1ull << (member & 63);
    set->middle[member >> 12] |= 1ull << (member >> 6 & 63);
    set->top[member >> 18] |= 1ull << (member >> 12 & 63);
}

void
bitset_remove(struct bitset *set, size_t member)
{
    if ((set->low[member >> 6] &= ~(1ull << (member & 63))) == 0 &&
        (set->middle[member >> 12] &= ~(1ull << (member >> 6 & 63))) == 0) {
        set->top[member >> 18] &= ~(1ull << (member >> 12 & 63));
    }
}

size_t
bitset_lowest(const struct bitset *set)
{
    for (size_t i = 0; i < 4; i++) {
        if (set->top[i] != 0) {
            size_t middle = i << 6 | (size_t)__builtin_ctzll(set->top[i]);
            size_t low = middle << 6 | (size_t)__builtin_ctzll(set->middle[middle]);
            return low << 6 | (size_t)__builtin_ctzll(set->low[low]);
        }
    }
    return HEAP_PAGES;
}

static int
bitset_has(const struct bitset *set, size_t member)
{
    return set->low[member >> 6] >> (member & 63) & 1;
}

/* Classes 1 .. 36; class 0 is "not ours" in the byte map. */
static void
classes_boot(void)
{
    unsigned class = 0;
    size_t slot = 0;
    for (size_t size = 8; size <= PROTO_SMALL_MAX;) {
        struct class_info *info = &classes[++class];
        info->size = (uint32_t)size;
        while ((PAGE_SIZE << info->order) / size < SLAB_REGIONS_MIN) {
            info->order++;
        }
        info->regions = (uint32_t)((PAGE_SIZE << info->order) / size);
        info->reciprocal = (uint32_t)((((uint64_t)1 << 32) + size - 1) / size);
        size_t most = CACHE_BYTES / size;
        info->cache_max = (uint32_t)(most > CACHE_OBJECTS_MAX ? CACHE_OBJECTS_MAX : most < 2 ? 2 : most);
        for (; slot * 8 <= size; slot++) {
            class_of[slot] = (uint8_t)class;
        }
        size_t power = (size_t)1 << (63 - __builtin_clzl(size));
        size += size == 8 ? 8 : power < 64 ? 16 : power / 4;
    }
}

void
pages_boot(void *dead)
{
    classes_boot();
    page_map = meta_reserve((size_t)1 << (47 - PAGE_SHIFT));
    size_t align = PAGE_SIZE << (ORDERS - 1);
    heap_base = ((uintptr_t)meta_reserve(HEAP_PAGES * PAGE_SIZE + align) + align - 1) & ~(align - 1);
    page_dead = dead;
    for (unsigned order = 0; order < ORDERS; order++) {
        pool_free[order] = meta_reserve(sizeof(struct bitset));
    }
}

static size_t
pool_take(unsigned order)
{
    unsigned from = order;
    size_t page = HEAP_PAGES;
    while (from < ORDERS && (page = bitset_lowest(pool_free[from])) == HEAP_PAGES) {
        from++;
    }
    if (page != HEAP_PAGES) {
        bitset_remove(pool_free[from], page);
    } else {
        from = ORDERS - 1;
        page = heap_fresh;
        if (page + ((size_t)1 << from) > HEAP_PAGES) {
            die("heap exhausted");
        }
        for (size_t i = 0; i < (size_t)1 << from; i++) {
            page_slab[page + i] = page_dead;
        }
        heap_fresh += (size_t)1 << from;
    }
    while (from > order) {
        from--;
        bitset_add(pool_free[from], page + ((size_t)1 << from));
    }
    return page;
}

uintptr_t
pages_take(unsigned order, unsigned class, void *slab)
{
    pthread_mutex_lock(&pool_lock);
    size_t page = pool_take(order);
    pool_taken += (size_t)1 << order;
    pthread_mutex_unlock(&pool_lock);
    for (size_t i = page; i < page + ((size_t)1 << order); i++) {
        page_slab[i] = slab;
        page_map[(heap_base >> PAGE_SHIFT) + i] = (uint8_t)class;
    }
    return heap_base + (page << PAGE_SHIFT);
}

void
pages_give(uintptr_t base, unsigned order)
{
    size_t page = (base - heap_base) >> PAGE_SHIFT;
    for (size_t i = page; i < page + ((size_t)1 << order); i++) {
        page_slab[i] = page_dead;
        page_map[(heap_base >> PAGE_SHIFT) + i] = 0;
    }
    pthread_mutex_lock(&pool_lock);
    pool_taken -= (size_t)1 << order;
    while (order < ORDERS - 1 && bitset_has(pool_free[order], page ^ ((size_t)1 << order))) {
        bitset_remove(pool_free[order], page ^ ((size_t)1 << order));
        page &= ~((size_t)1 << order);
        order++;
    }
    bitset_add(pool_free[order], page);
    pthread_mutex_unlock(&pool_lock);
}

void
pages_purge(void)
{
    pthread_mutex_lock(&pool_lock);
    for (unsigned order = 0; order < ORDERS; order++) {
        for (size_t page = 0; page < heap_fresh; page++) {
            if (bitset_has(pool_free[order], page)) {
                madvise((void *)(heap_base + (page << PAGE_SHIFT)), PAGE_SIZE << order, MADV_DONTNEED);
            }
        }
    }
    pthread_mutex_unlock(&pool_lock);
}

size_t
proto_slab_kib(void)
{
    return pool_taken << (PAGE_SHIFT - 10);
}
