/* SPDX-License-Identifier: MIT */
/*
 * Unit tests of base/size_class.  Built twice: with the usual quantum of 16 bytes, and with one of 8 bytes and a copy
 * of size_class.c of its own.
 */
#include "base/size_class.h"

#include "test.h"

#include <string.h>

#define MIB ((size_t)1 << 20)

/* Where the classes come from, in jemalloc's words: 8; the multiples of the quantum up to 4 of them; then four a
 * doubling, with a fine one below each from 128 bytes to the largest small one.  The next class above `size`. */
static size_t
next_class(size_t size)
{
    if (size < 8) {
        return 8;
    }
    if (size < 4 * HEW_QUANTUM) {
        return size < HEW_QUANTUM ? HEW_QUANTUM : size + HEW_QUANTUM;
    }
    bool eight = size >= 128 && size < HEW_SMALL_MAX;
    return size + ((size_t)1 << (hew_bits_floor_log2(size) - (eight ? 3 : 2)));
}

TEST(every_size_up_to_a_mebibyte_gets_the_smallest_class_that_holds_it)
{
    hew_size_class_boot();
    size_t class = 8, wrong = 0;
    unsigned index = 0;
    for (size_t size = 0; size <= MIB; size++) {
        if (size > class) {
            class = next_class(class);
            index++;
        }
        wrong += hew_class_index(size) != index || hew_class_size(index) != class;
        wrong += hew_code_of_size(size) != index + 1 || hew_code_size(index + 1) != class;
    }
    CHECK_EQUAL(wrong, 0);
}

TEST(larger_sizes_get_the_smallest_class_too_up_to_the_largest_request)
{
    unsigned index = hew_class_index(MIB);
    for (size_t class = MIB; class < (size_t)1 << 61; class = next_class(class), index++) {
        CHECK_EQUAL(hew_class_size(index), class);
        CHECK_EQUAL(hew_class_index(class), index);
        CHECK_EQUAL(hew_class_index(class + 1), index + 1);
        CHECK_EQUAL(hew_class_index(next_class(class) - 1), index + 1);
    }
    CHECK(hew_class_size(hew_class_index((size_t)7 << 60)) == (size_t)7 << 60);
}

TEST(no_class_wastes_more_than_a_fifth_above_the_smallest_ones)
{
    for (unsigned index = hew_class_index(4 * HEW_QUANTUM + 1); index < 100; index++) {
        size_t wasted = hew_class_size(index) - hew_class_size(index - 1) - 1;
        CHECK(wasted * 5 < hew_class_size(index));
    }
}

TEST(the_named_codes_are_where_the_named_sizes_end)
{
    hew_size_class_boot();
    CHECK_EQUAL(hew_code_size(HEW_CODE_SMALL_LAST), HEW_SMALL_MAX);
    CHECK_EQUAL(hew_code_of_size(HEW_SMALL_MAX + 1), HEW_CODE_SMALL_LAST + 1);
    CHECK_EQUAL(hew_code_size(HEW_CODE_SMALL_LAST + 1), HEW_GRAIN);
    CHECK_EQUAL(hew_code_size(HEW_CODE_CACHED_LAST), HEW_CACHED_MAX);
    CHECK_EQUAL(hew_code_of_size(HEW_CACHED_MAX), HEW_CODE_CACHED_LAST);
}

TEST(a_large_sizes_index_is_the_same_by_the_shorter_way)
{
    for (unsigned index = HEW_CODE_SMALL_LAST; index < 150; index++) {
        size_t size = hew_class_size(index);
        CHECK_EQUAL(hew_class_index_large(size), index);
        CHECK_EQUAL(hew_class_index_large(size + 1), index + 1);
    }
    CHECK_EQUAL(hew_class_index_large(HEW_SMALL_MAX + 1), HEW_CODE_SMALL_LAST);
}

TEST(every_class_is_aligned_as_malloc_must_be)
{
    for (unsigned code = 2; code <= HEW_CODE_CACHED_LAST; code++) {
        CHECK_EQUAL(hew_code_size(code) % HEW_QUANTUM, 0);
    }
    for (unsigned code = HEW_CODE_SMALL_LAST + 1; code <= HEW_CODE_CACHED_LAST; code++) {
        CHECK_EQUAL(hew_code_size(code) % HEW_PAGE, 0);
    }
}

TEST(before_boot_no_request_is_small)
{
    CHECK_EQUAL(hew_small_end, 0);
}

/* Sizes to which the table gives another class than it should: while `open`, the smallest one that is open. */
static size_t
wrong_codes(bool (*open)(unsigned code))
{
    size_t wrong = 0;
    for (size_t size = 0; size <= HEW_SMALL_MAX; size++) {
        unsigned code = hew_code_of_size(size);
        wrong += hew_code_for(size) != code + (open(code) ? 0 : 1);
    }
    return wrong;
}

static bool
is_coarse(unsigned code)
{
    return !hew_code_is_fine(code);
}

static bool
is_coarse_or_of_448(unsigned code)
{
    return is_coarse(code) || hew_code_size(code) == 416;
}

static bool
is_any(unsigned code)
{
    return code != HEW_CODE_NONE;
}

TEST(the_next_class_serves_the_sizes_of_a_fine_one_until_that_is_opened)
{
    hew_size_class_boot();
    uint8_t before[sizeof hew_small_codes];
    memcpy(before, hew_small_codes, sizeof before);
    CHECK_EQUAL(wrong_codes(is_coarse), 0);
    hew_size_class_open(hew_code_of_size(448));
    hew_size_class_open(hew_code_of_size(448)); /* as when two threads do */
    CHECK_EQUAL(wrong_codes(is_coarse_or_of_448), 0);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        hew_size_class_open(code);
    }
    CHECK_EQUAL(wrong_codes(is_any), 0);
    memcpy(hew_small_codes, before, sizeof before);
}

/* What the fine class below that of `coarse` bytes holds once it has opened, after requests for two sizes.  Every other
 * class is closed, and all are again afterwards. */
static size_t
cut_after(size_t coarse, size_t most, unsigned many, size_t other, unsigned few)
{
    unsigned code = hew_code_of_size(coarse);
    uint8_t before[sizeof hew_small_codes];
    memcpy(before, hew_small_codes, sizeof before);
    for (unsigned i = 0; i < many; i++) {
        hew_size_class_ask(code, most);
        if (i < few) {
            hew_size_class_ask(code, other);
        }
    }
    hew_size_class_open(code);
    const struct hew_slab_shape *shape = &hew_slab_shapes[code - 1];
    size_t size = shape->size;
    CHECK_EQUAL(hew_code_for(size), code - 1);
    CHECK_EQUAL(hew_code_for(size + 1), code);
    CHECK_EQUAL(hew_code_for(hew_code_size(code - 2)), code - 2);
    CHECK_EQUAL(shape->bytes, size * shape->regions);
    CHECK(shape->bytes <= shape->pages * HEW_PAGE && shape->pages * HEW_PAGE - shape->bytes < size);
    CHECK_EQUAL((unsigned __int128)(5 * size) * shape->reciprocal >> 64, 5);
    hew_size_class_ask(code, coarse); /* says nothing any more */
    memcpy(hew_small_codes, before, sizeof before);
    return size;
}

TEST(a_fine_class_is_cut_to_the_size_that_most_requests_ask_for)
{
    hew_size_class_boot();
    CHECK_EQUAL(cut_after(1280, 1032, 10, 1240, 6), 1040);
    CHECK_EQUAL(cut_after(5120, 4368, 4, 0, 0), 4368);
    CHECK_EQUAL(cut_after(160, 129, 300, 0, 0), 144); /* as close as objects lie */
    CHECK_EQUAL(cut_after(448, 392, 300, 448, 290), 400);
}

TEST(a_fine_class_lies_halfway_where_requests_do_not_agree_on_less)
{
    hew_size_class_boot();
    CHECK_EQUAL(cut_after(1280, 1032, 6, 1240, 3), 1152); /* three votes more */
    CHECK_EQUAL(cut_after(5120, 4700, 50, 0, 0), 4608);   /* above halfway */
    CHECK_EQUAL(cut_after(320, 320, 50, 0, 0), 288);      /* the coarse class itself */
    CHECK_EQUAL(cut_after(14336, 12300, 0, 0, 0), 13312); /* no request seen */
    hew_size_class_boot();
    hew_size_class_set_slabs(1100, 1200, 20);
    CHECK_EQUAL(cut_after(1280, 1032, 50, 0, 0), 1152); /* the user chose slabs by these sizes */
    CHECK_EQUAL(hew_slab_shapes[hew_code_of_size(1152)].pages, 20);
    hew_size_class_boot();
}

TEST(every_other_class_from_144_bytes_on_is_a_fine_one_and_never_a_power_of_two)
{
    hew_size_class_boot();
    unsigned fine = 0;
    for (unsigned code = 1; code < HEW_CODES; code++) {
        fine += hew_code_is_fine(code);
        CHECK(!hew_code_is_fine(code) || (hew_code_size(code) > 128 && !hew_bits_is_power_of_two(hew_code_size(code))));
    }
    CHECK_EQUAL(fine, HEW_CLASSES_FINE);
    CHECK(hew_code_is_fine(hew_code_of_size(144)) && !hew_code_is_fine(hew_code_of_size(128)));
    CHECK(hew_code_is_fine(hew_code_of_size(13312)) && !hew_code_is_fine(hew_code_of_size(16384)));
}

TEST(the_table_of_large_sizes_agrees_with_the_formula)
{
    for (size_t size = HEW_SMALL_MAX + 1; size <= HEW_LARGE_CODES_MAX; size++) {
        CHECK_EQUAL(hew_large_codes[(size + HEW_PAGE - 1) / HEW_PAGE], hew_code_of_size(size));
    }
}

TEST(where_pages_are_larger_slabs_and_large_classes_are_whole_ones)
{
    uint8_t before[sizeof hew_large_codes];
    memcpy(before, hew_large_codes, sizeof before);
    for (hew_system_page = 4 * HEW_PAGE; hew_system_page <= HEW_SYSTEM_PAGE_MAX; hew_system_page *= 4) {
        hew_size_class_boot();
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            CHECK_EQUAL(hew_slab_shapes[code].pages * HEW_PAGE % hew_system_page, 0);
        }
        for (size_t size = HEW_SMALL_MAX + 1; size <= HEW_LARGE_CODES_MAX; size++) {
            size_t got = hew_code_size(hew_paged_code(size));
            CHECK(got >= size && got % hew_system_page == 0);
        }
    }
    hew_system_page = HEW_PAGE;
    memcpy(hew_large_codes, before, sizeof before);
    hew_size_class_boot();
}

TEST(slabs_are_whole_grains_that_lose_at_most_a_fortieth)
{
    hew_size_class_boot();
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        const struct hew_slab_shape *shape = &hew_slab_shapes[code];
        size_t bytes = (size_t)shape->pages * HEW_PAGE;
        CHECK_EQUAL(shape->size, hew_code_size(code));
        CHECK_EQUAL(bytes % HEW_GRAIN, 0);
        CHECK_EQUAL(shape->regions, bytes / shape->size);
        CHECK_EQUAL(shape->bytes, shape->regions * shape->size);
        CHECK(shape->regions >= 8);
        CHECK((bytes - (size_t)shape->regions * shape->size) * 40 <= bytes);
    }
}

TEST(the_reciprocal_finds_the_region_of_every_byte_of_a_slab_and_whether_it_begins_there)
{
    hew_size_class_boot();
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        const struct hew_slab_shape *shape = &hew_slab_shapes[code];
        size_t wrong = 0;
        for (uint64_t offset = 0; offset < (uint64_t)shape->pages * HEW_PAGE; offset++) {
            unsigned __int128 product = (unsigned __int128)offset * shape->reciprocal;
            wrong += product >> 64 != offset / shape->size;
            wrong += ((uint64_t)product < shape->reciprocal) != (offset % shape->size == 0);
        }
        CHECK_EQUAL(wrong, 0);
    }
}

TEST(slabs_of_a_range_of_sizes_can_be_made_larger_or_smaller)
{
    hew_size_class_boot();
    struct hew_slab_shape before = hew_slab_shapes[hew_code_of_size(4096)];
    hew_size_class_set_slabs(64, 256, 17);
    const struct hew_slab_shape *low = &hew_slab_shapes[hew_code_of_size(64)];
    CHECK(low->pages == 20 && low->regions == 20 * HEW_PAGE / 64);
    CHECK_EQUAL(hew_slab_shapes[hew_code_of_size(256)].pages, 20);
    CHECK_EQUAL(hew_slab_shapes[hew_code_of_size(4096)].pages, before.pages);
    hew_size_class_set_slabs(1, HEW_SMALL_MAX, 1);
    CHECK_EQUAL(hew_slab_shapes[HEW_CODE_SMALL_LAST].pages, HEW_GRAIN_PAGES);
    CHECK_EQUAL(hew_slab_shapes[HEW_CODE_SMALL_LAST].regions, 1);
    hew_size_class_boot();
}
