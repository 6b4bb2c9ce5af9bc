/* SPDX-License-Identifier: MIT */
/*
 * page_ranges: what the models of the page heap know: ranges that are taken, each with a content of its own.
 *
 * Owns      nothing; a range belongs to the thread that holds it.
 * Promises  the first breach ends the process with a line that names the seed and the operation to repeat it by.
 */
#ifndef HEW_TESTS_MODEL_PAGE_RANGES_H
#define HEW_TESTS_MODEL_PAGE_RANGES_H

#include "fakes/random.h"
#include "meta/map.h"
#include "page/gather.h"
#include "page/heap.h"
#include "page/move.h"

#include <stdio.h>
#include <stdlib.h>

#define MIB ((size_t)1 << 20)

struct range {
    struct hew_extent *extent; /* NULL: the slot is free */
    struct hew_page_heap *heap;
    uintptr_t address;
    size_t size;
    size_t alignment;
    unsigned code;
    uint64_t content; /* each page begins and ends with this plus its number */
};

/*
 * Unmapping and mapping a page again are ordered by the kernel, which ThreadSanitizer does not see: where heaps hand
 * address space to each other through the system (ranges_remap), it is told, page by page.
 */
#if defined(__SANITIZE_THREAD__)
#define RANGES_TOLD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RANGES_TOLD 1
#endif
#endif
#ifndef RANGES_TOLD
#define RANGES_TOLD 0
#endif

/* Weak: only ThreadSanitizer has them. */
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

static bool ranges_remap;

/* Of the bytes from `from` on. */
static inline void
range_tell(const struct range *range, size_t from, void (*tell)(void *))
{
    for (size_t page = from; RANGES_TOLD && ranges_remap && page < range->size; page += HEW_PAGE) {
        tell((void *)(range->address + page));
    }
}

/* One sequence of operations: what happens next and where it stands. */
struct run {
    uint64_t seed, random, step;
};

#define MUST(run, condition)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: not true: %s\nseed %llu, operation %llu\n", __FILE__, __LINE__, #condition,                 \
                   (unsigned long long)(run)->seed, (unsigned long long)(run)->step);                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A number from the environment, for longer or other runs by hand. */
static inline uint64_t
parameter(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text == NULL ? usual : strtoull(text, NULL, 0);
}

static inline uint64_t *
range_word(const struct range *range, size_t page, bool last)
{
    return (uint64_t *)(range->address + page * HEW_PAGE + (last ? HEW_PAGE - sizeof(uint64_t) : 0));
}

/* Writes the content of pages `from` up to the end. */
static inline void
range_write(const struct range *range, size_t from)
{
    for (size_t page = from; page < range->size / HEW_PAGE; page++) {
        *range_word(range, page, false) = *range_word(range, page, true) = range->content + page;
    }
}

static inline void
range_check(const struct run *run, const struct range *range, size_t pages)
{
    for (size_t page = 0; page < pages; page++) {
        MUST(run, *range_word(range, page, false) == range->content + page);
        MUST(run, *range_word(range, page, true) == range->content + page);
    }
}

/* Memory that is said to be zeroed: every byte of a small range, the ends of each page of a large one. */
static inline void
range_check_zero(const struct run *run, const struct range *range, size_t from)
{
    size_t end = range->size / HEW_PAGE;
    for (size_t page = from; page < end; page++) {
        MUST(run, *range_word(range, page, false) == 0 && *range_word(range, page, true) == 0);
    }
    const uint64_t *words = (const uint64_t *)range->address;
    for (size_t word = from * HEW_PAGE / 8; end - from <= 16 && word < range->size / 8; word++) {
        MUST(run, words[word] == 0);
    }
}

/* What the heap and both maps must say of an active range. */
static inline void
range_check_maps(const struct run *run, const struct range *range)
{
    const struct hew_extent *extent = range->extent;
    MUST(run, extent->address == range->address && extent->size == range->size);
    MUST(run, extent->state == HEW_EXTENT_ACTIVE && extent->code == range->code);
    MUST(run, range->address % range->alignment == 0);
    MUST(run, hew_map_extent(range->address) == extent);
    MUST(run, hew_map_extent(range->address + range->size - 1) == extent);
    MUST(run, hew_map_code(range->address) == range->code);
    for (size_t at = 0; range->code <= HEW_CODE_SMALL_LAST && at < range->size; at += HEW_PAGE) {
        MUST(run, hew_map_extent(range->address + at) == extent);
        MUST(run, hew_map_code(range->address + at) == range->code);
    }
}

/* What a take asks for: slabs, cached classes, and anything larger, each the more rare the larger it is. */
static inline void
range_choose(struct run *run, struct range *range)
{
    uint64_t kind = random_below(&run->random, 100);
    range->alignment = HEW_PAGE;
    if (kind < 40) {
        range->code = 1 + (unsigned)random_below(&run->random, HEW_CODE_SMALL_LAST);
        range->size = HEW_GRAIN * (1 + random_below(&run->random, 12));
        range->alignment = HEW_GRAIN;
    } else if (kind < 85) {
        unsigned classes = HEW_CODE_CACHED_LAST - HEW_CODE_SMALL_LAST;
        range->code = HEW_CODE_SMALL_LAST + 1 + (unsigned)random_below(&run->random, classes);
        range->size = hew_class_size(range->code - 1);
    } else {
        range->code = HEW_CODE_SLOW;
        range->size = HEW_GRAIN + HEW_PAGE * random_below(&run->random, kind < 99 ? 512 : 8192);
    }
    if (random_below(&run->random, 8) == 0) {
        range->alignment = HEW_GRAIN << random_below(&run->random, 13); /* up to 64 MiB */
    } else if (range->code > HEW_CODE_SMALL_LAST && random_below(&run->random, 8) == 0) {
        range->alignment = 2 * HEW_PAGE;
    }
}

/* True when the heap gave the range: all that a take promises is checked, and the content is written. */
static inline bool
range_take(struct run *run, struct range *range)
{
    range_choose(run, range);
    range->extent = hew_page_take(range->heap, range->size, range->alignment, range->code);
    if (range->extent == NULL) {
        return false;
    }
    range->address = range->extent->address;
    range_tell(range, 0, __tsan_acquire);
    range_check_maps(run, range);
    if (range->code == HEW_CODE_SLOW && range->extent->large.fresh >= HEW_GATHER_LEAST) {
        MUST(run, hew_page_gather(range->heap, range->extent));
        range_check_maps(run, range);
    }
    MUST(run, range->extent->zeroed == (range->extent->large.fresh == range->size));
    range_check_zero(run, range, (range->size - range->extent->large.fresh) / HEW_PAGE);
    range->content = random_next(&run->random);
    range_write(range, 0);
    return true;
}

static inline void
range_give(struct run *run, struct range *range)
{
    range_check_maps(run, range);
    range_check(run, range, range->size / HEW_PAGE);
    range_tell(range, 0, __tsan_release);
    hew_page_give(range->heap, range->extent);
    range->extent = NULL;
}

/* Large ranges only.  Grown pages that are said to be zeroed must be. */
static inline bool
range_grow(struct run *run, struct range *range)
{
    size_t before = range->size, more = HEW_PAGE * (1 + random_below(&run->random, 300));
    range->extent->zeroed = true; /* of what joins: the content written so far is the model's own */
    if (!hew_page_grow(range->heap, range->extent, before + more)) {
        return false;
    }
    range->size += more;
    range_tell(range, before, __tsan_acquire);
    range_check_maps(run, range);
    range_check(run, range, before / HEW_PAGE);
    if (range->extent->zeroed) {
        range_check_zero(run, range, before / HEW_PAGE);
    }
    range_write(range, before / HEW_PAGE);
    return true;
}

static inline bool
range_shrink(struct run *run, struct range *range)
{
    size_t grains = (range->size - 1) / HEW_GRAIN;
    if (grains == 0) {
        return false;
    }
    size_t size = HEW_GRAIN * (1 + random_below(&run->random, grains));
    range_tell(range, size, __tsan_release);
    if (!hew_page_shrink(range->heap, range->extent, size)) {
        return false;
    }
    range->size = size;
    range_check_maps(run, range);
    return true;
}

/* Moves the pages of one range to the front of a larger one, which is large.  The first then reads as zeros. */
static inline bool
range_move(struct run *run, struct range *from, struct range *to)
{
    if (from->size > to->size || to->code <= HEW_CODE_SMALL_LAST) {
        return false;
    }
    enum hew_os_moved moved = hew_page_move(from->heap, from->extent, to->heap, to->extent);
    MUST(run, moved != HEW_OS_PLACE_LOST);
    if (moved != HEW_OS_MOVED) {
        return false;
    }
    uint64_t content = to->content;
    to->content = from->content;
    range_check(run, to, from->size / HEW_PAGE);
    to->content = content;
    range_check_zero(run, from, 0);
    range_write(from, 0);
    range_write(to, 0);
    return true;
}

#endif
