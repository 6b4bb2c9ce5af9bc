/* SPDX-License-Identifier: MIT */
/*
 * size_class: the tables of codes, which are compiled in, and the slabs' shapes, which settings may change and boot
 * computes.
 */
#include "base/size_class.h"

#include <stdatomic.h>
#include <string.h>

#define ALIGNED 16     /* every object of 16 bytes or more is aligned to this */
#define VOTES_LEAST 4  /* more requests for one size than for all others together, to cut a class to it */
#define VOTES_MOST 255 /* a majority that has changed is outvoted in time */

size_t hew_system_page = HEW_PAGE;
struct hew_slab_shape hew_slab_shapes[HEW_CODES];
size_t hew_small_end, hew_large_end, hew_aligned_end;
unsigned hew_small_classes = HEW_CODE_SMALL_LAST;
bool hew_classes_are_own;
static bool slabs_are_chosen; /* by settings, by their sizes */

/* The size that most requests of a coarse class ask for, by the majority vote of Boyer and Moore: a request for another
 * size takes a vote away, and the last one lost makes place for its size.  Relaxed: a vote lost between threads is one
 * of many. */
struct vote {
    _Atomic uint16_t size, votes;
    _Atomic bool opened; /* the fine class below it */
};
static struct vote asked[HEW_CODE_SMALL_LAST + 1];

/* The code that is `usual` with a quantum of 16 bytes, and `small` with one of 8. */
#define CODE(usual, small) (HEW_LG_QUANTUM == 4 ? (usual) : (small))
#define REGULAR(usual) CODE(usual, (usual) + 3)
/* The four coarse classes of one doubling: they start at slot `from`, have `step` slots each, and their codes are `by`
 * apart.  The last small doubling has only three. */
#define THREE(from, step, first, by)                                                                                   \
    [(from) + 1 ...(from) + (step)] = REGULAR(first),                                                                  \
                            [(from) + (step) + 1 ...(from) + 2 * (step)] = REGULAR((first) + (by)),                    \
                            [(from) + 2 * (step) + 1 ...(from) + 3 * (step)] = REGULAR((first) + 2 * (by))
#define FOUR(from, step, first, by)                                                                                    \
    THREE(from, step, first, by), [(from) + 3 * (step) + 1 ...(from) + 4 * (step)] = REGULAR((first) + 3 * (by))

uint8_t hew_small_codes[HEW_SMALL_MAX / 8 + 1] HEW_ALIGNED(HEW_CACHE_LINE) = {1,
                                                                              1,
                                                                              2,
                                                                              3,
                                                                              CODE(3, 4),
                                                                              CODE(4, 5),
                                                                              CODE(4, 6),
                                                                              CODE(5, 7),
                                                                              CODE(5, 8),
                                                                              FOUR(8, 2, 6, 1),
                                                                              FOUR(16, 4, 11, 2),
                                                                              FOUR(32, 8, 19, 2),
                                                                              FOUR(64, 16, 27, 2),
                                                                              FOUR(128, 32, 35, 2),
                                                                              FOUR(256, 64, 43, 2),
                                                                              FOUR(512, 128, 51, 2),
                                                                              THREE(1024, 256, 59, 2)};
uint8_t hew_large_codes[HEW_LARGE_CODES_MAX / HEW_PAGE + 1] = {
    [4] = REGULAR(64), FOUR(4, 1, 65, 1), FOUR(8, 2, 69, 1), FOUR(16, 4, 73, 1), FOUR(32, 8, 77, 1)};

_Static_assert(HEW_CODE_CACHED_LAST < HEW_CODE_GUARD, "every cached class needs a code of its own");

/* Slabs begin and end with a granule, and with a page of the system. */
static size_t
whole_granules(size_t pages)
{
    return hew_bits_round_up(hew_system_pages(pages * HEW_PAGE), HEW_GRAIN) / HEW_PAGE;
}

/*
 * Returns the smallest number of whole granules that loses at most 1/40 to the slab tail and holds enough regions for a
 * batch.  Slabs are carved lazily from the lowest address, so a large slab costs a small program only address space.
 */
static uint32_t
slab_pages(size_t size)
{
    size_t wanted = size <= 2048 ? 16 : 8;
    for (size_t pages = whole_granules(1);; pages += whole_granules(1)) {
        size_t bytes = pages * HEW_PAGE;
        if (bytes / size >= wanted && bytes % size <= bytes / 40) {
            return (uint32_t)pages;
        }
    }
}

static void
shape_slab(struct hew_slab_shape *shape, size_t pages)
{
    shape->pages = (uint32_t)pages;
    shape->regions = (uint32_t)(pages * HEW_PAGE / shape->size);
    shape->bytes = shape->regions * shape->size;
}

void
hew_size_class_set_slabs(size_t low, size_t high, size_t pages)
{
    slabs_are_chosen = true;
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        if (hew_code_size(code) >= low && hew_code_size(code) <= high) {
            shape_slab(&hew_slab_shapes[code], whole_granules(pages));
        }
    }
}

static void
set_shape(unsigned code, size_t size)
{
    struct hew_slab_shape *shape = &hew_slab_shapes[code];
    shape->size = (uint32_t)size;
    shape->reciprocal = UINT64_MAX / size + 1;
    if (code <= HEW_CODE_SMALL_LAST) {
        shape_slab(shape, slab_pages(size));
    }
}

/* Assigns the class to requests larger than `before` and up to `size` bytes; both are multiples of 8.  Release: its
 * shape comes first. */
static void
serve_sizes(size_t before, size_t size, unsigned code)
{
    for (size_t slot = before / 8 + 1; slot <= size / 8; slot++) {
        __atomic_store_n(&hew_small_codes[slot], (uint8_t)code, __ATOMIC_RELEASE);
    }
}

void
hew_size_class_ask(unsigned code, size_t size)
{
    if (!hew_code_is_fine(code - 1) || atomic_load_explicit(&asked[code].opened, memory_order_relaxed)) {
        return;
    }
    uint16_t wanted = (uint16_t)hew_bits_round_up(size, ALIGNED);
    uint16_t votes = atomic_load_explicit(&asked[code].votes, memory_order_relaxed);
    if (votes == 0) {
        atomic_store_explicit(&asked[code].size, wanted, memory_order_relaxed);
        votes = 1;
    } else if (atomic_load_explicit(&asked[code].size, memory_order_relaxed) != wanted) {
        votes--;
    } else if (votes < VOTES_MOST) {
        votes++;
    }
    atomic_store_explicit(&asked[code].votes, votes, memory_order_relaxed);
}

/* Returns what the fine class below `code` should hold: what most requests ask for, if it is less than halfway. */
static size_t
cut_size(unsigned code, size_t before, size_t halfway)
{
    size_t size = atomic_load_explicit(&asked[code].size, memory_order_relaxed);
    bool agreed = atomic_load_explicit(&asked[code].votes, memory_order_relaxed) >= VOTES_LEAST;
    return agreed && !slabs_are_chosen && size > before && size < halfway ? size : halfway;
}

void
hew_size_class_open(unsigned code)
{
    unsigned fine = code - 1;
    if (!hew_code_is_fine(fine) || atomic_exchange_explicit(&asked[code].opened, true, memory_order_relaxed)) {
        return;
    }
    size_t before = hew_code_size(fine - 1), halfway = hew_code_size(fine), size = cut_size(code, before, halfway);
    if (size != halfway) {
        set_shape(fine, size);
    }
    serve_sizes(before, size, fine);
}

void
hew_size_class_boot(void)
{
    memset(asked, 0, sizeof asked);
    slabs_are_chosen = false;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        set_shape(code, hew_class_size(code - 1));
    }
    for (size_t size = HEW_GRAIN; hew_system_page != HEW_PAGE && size <= HEW_LARGE_CODES_MAX; size += HEW_PAGE) {
        hew_large_codes[size / HEW_PAGE] = (uint8_t)hew_usual_code(hew_system_pages(size));
    }
}

HEW_COLD void
hew_size_class_set_own(const uint16_t *sizes, unsigned count)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        unsigned index = code <= count ? code - 1 : count - 1;
        set_shape(code, sizes[index]);
        serve_sizes(index == 0 ? 0 : sizes[index - 1], sizes[index], index + 1);
    }
    hew_small_classes = count;
    hew_classes_are_own = true;
}
