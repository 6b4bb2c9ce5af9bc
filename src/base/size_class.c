/* SPDX-License-Identifier: MIT */
/*
 * size_class: the tables, computed at boot (about 2 us) rather than stored in the file.
 */
#include "base/size_class.h"

struct hew_slab_shape hew_slab_shapes[HEW_CODES];
size_t hew_small_end, hew_large_end;
uint8_t hew_small_codes[HEW_SMALL_MAX / 8 + 1] HEW_ALIGNED(HEW_CACHE_LINE);
uint8_t hew_large_codes[HEW_LARGE_CODES_MAX / HEW_PAGE + 1];

_Static_assert(HEW_CODE_CACHED_LAST < HEW_CODE_SLOW, "every cached class needs a code of its own");

/*
 * The smallest whole number of grains that loses at most 1/40 of itself to the tail and holds enough regions for a
 * batch.  Slabs are carved lazily, from the lowest address, so a large slab costs a small program address space only.
 */
static uint32_t
slab_pages(size_t size)
{
    size_t wanted = size <= 2048 ? 16 : 8;
    for (size_t pages = HEW_GRAIN_PAGES;; pages += HEW_GRAIN_PAGES) {
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
}

void
hew_size_class_set_slabs(size_t low, size_t high, size_t pages)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        if (hew_code_size(code) >= low && hew_code_size(code) <= high) {
            shape_slab(&hew_slab_shapes[code], hew_bits_round_up(pages, HEW_GRAIN_PAGES));
        }
    }
}

void
hew_size_class_boot(void)
{
    size_t slot = 0, pages = 0;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        size_t size = hew_code_size(code);
        struct hew_slab_shape *shape = &hew_slab_shapes[code];
        shape->size = (uint32_t)size;
        if (code <= HEW_CODE_SMALL_LAST) {
            shape_slab(shape, slab_pages(size));
            shape->reciprocal = (uint32_t)(((UINT64_C(1) << 32) + size - 1) / size);
        }
        for (; slot <= size / 8 && slot <= HEW_SMALL_MAX / 8; slot++) {
            hew_small_codes[slot] = (uint8_t)code;
        }
        for (; pages <= size / HEW_PAGE && pages <= HEW_LARGE_CODES_MAX / HEW_PAGE; pages++) {
            hew_large_codes[pages] = (uint8_t)code;
        }
    }
}
