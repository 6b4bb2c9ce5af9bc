/* SPDX-License-Identifier: MIT */
/* Unit tests of base/size_class: small classes of a program's own, random ones among them. */
#include "own_classes.h"

#include "test.h"

#define TABLES 60

static uint16_t sizes[HEW_CODE_SMALL_LAST];

static unsigned
put_in_force(uint64_t variant)
{
    struct layers_random dice = {layers_random_seed() + variant};
    unsigned count = own_classes_random(&dice, sizes);
    hew_size_class_boot();
    hew_size_class_set_own(sizes, count);
    CHECK_EQUAL(hew_small_classes, count);
    return count;
}

TEST(a_random_table_is_one_that_the_setting_takes)
{
    unsigned fewest = HEW_CODE_SMALL_LAST, most = 0;
    for (uint64_t variant = 1; variant <= TABLES; variant++) {
        unsigned count = put_in_force(variant);
        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
        CHECK(sizes[0] == 8 || sizes[0] == 16);
        CHECK_EQUAL(sizes[count - 1], HEW_SMALL_MAX);
        for (unsigned i = 1; i < count; i++) {
            CHECK(sizes[i] > sizes[i - 1] && sizes[i] <= 2 * sizes[i - 1] && sizes[i] % HEW_QUANTUM == 0);
        }
    }
    CHECK(fewest < 25 && most == HEW_CODE_SMALL_LAST);
}

TEST(every_size_gets_the_smallest_own_class_that_holds_it)
{
    for (uint64_t variant = 1; variant <= TABLES; variant++) {
        unsigned count = put_in_force(variant), index = 0;
        size_t wrong = 0;
        for (size_t size = 0; size <= HEW_SMALL_MAX; size++) {
            index += size > sizes[index];
            wrong += hew_code_for(size) != index + 1 || hew_code_of_size(size) != index + 1;
            wrong += hew_code_size(index + 1) != sizes[index];
        }
        CHECK_EQUAL(index, count - 1);
        CHECK_EQUAL(wrong, 0);
    }
}

TEST(slabs_of_own_classes_are_whole_grains_and_their_regions_are_found)
{
    for (uint64_t variant = 1; variant <= TABLES; variant++) {
        put_in_force(variant);
        for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
            const struct hew_slab_shape *shape = &hew_slab_shapes[code];
            size_t bytes = (size_t)shape->pages * HEW_PAGE, wrong = 0;
            CHECK(bytes % HEW_GRAIN == 0 && shape->regions == bytes / shape->size && shape->regions >= 8);
            CHECK_EQUAL(shape->bytes, shape->regions * shape->size);
            CHECK((bytes - shape->bytes) * 40 <= bytes);
            for (uint64_t offset = 0; offset < bytes; offset += 8) {
                unsigned __int128 product = (unsigned __int128)offset * shape->reciprocal;
                wrong += product >> 64 != offset / shape->size;
                wrong += ((uint64_t)product < shape->reciprocal) != (offset % shape->size == 0);
            }
            CHECK_EQUAL(wrong, 0);
        }
    }
}

TEST(codes_behind_the_last_own_class_repeat_it_and_no_class_is_fine)
{
    static const uint16_t few[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 14336};
    hew_size_class_boot();
    hew_size_class_set_own(few, 11);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        CHECK_EQUAL(hew_code_size(code), few[code <= 11 ? code - 1 : 10]);
        CHECK(!hew_code_is_fine(code));
        hew_size_class_open(code);
    }
    CHECK_EQUAL(hew_code_for(8193), 11);
    CHECK_EQUAL(hew_code_for(200), 5);
    CHECK_EQUAL(hew_code_for(HEW_SMALL_MAX + 1), HEW_CODE_SMALL_LAST + 1);
    CHECK_EQUAL(hew_code_size(HEW_CODE_SMALL_LAST + 1), HEW_GRAIN);
    CHECK_EQUAL(hew_class_size(hew_usual_code(200) - 1), 208); /* hew's own memory keeps the usual ones */
}

TEST(slabs_of_own_classes_can_be_made_larger)
{
    put_in_force(1);
    hew_size_class_set_slabs(1, HEW_SMALL_MAX, 64);
    for (unsigned code = 1; code <= hew_small_classes; code++) {
        CHECK_EQUAL(hew_slab_shapes[code].pages, 64);
        CHECK_EQUAL(hew_slab_shapes[code].regions, 64 * HEW_PAGE / hew_slab_shapes[code].size);
    }
}
