/* SPDX-License-Identifier: MIT */
/* Unit tests of alloc/ under small classes of a program's own: what each size and alignment gets. */
#include "alloc/aligned.h"
#include "alloc/flags.h"
#include "layers_alloc.h"
#include "own_classes.h"
#include "test.h"

#include "fakes/child.h"

#define TABLES 12

static uint64_t variant;

static void
boot(void)
{
    static uint16_t sizes[HEW_CODE_SMALL_LAST];
    struct layers_random dice = {layers_random_seed() + variant};
    unsigned count = own_classes_random(&dice, sizes);
    CHECK(layers_boot_with(sizes, count));
    hew_options.narenas = 2;
}

/* The smallest class that holds the size and is a multiple of the alignment; 0: a large object. */
static size_t
smallest(size_t size, size_t alignment)
{
    for (unsigned code = 1; code <= hew_small_classes; code++) {
        if (hew_code_size(code) >= size && hew_code_size(code) % alignment == 0) {
            return hew_code_size(code);
        }
    }
    return 0;
}

static unsigned
check_one(size_t size, size_t alignment)
{
    unsigned char *object = hew_alloc_aligned(size, alignment, false);
    size_t usable = hew_alloc_usable("malloc_usable_size", object), small = smallest(size, alignment);
    unsigned wrong = (uintptr_t)object % alignment != 0;
    wrong += small != 0 ? usable != small : usable < HEW_SMALL_MAX;
    wrong += hew_flags_usable(size, hew_bits_floor_log2(alignment)) != usable;
    memset(object, 0x3c, usable);
    hew_alloc_is_sized("free_aligned_sized", object, size, alignment);
    layers_free(object);
    return wrong;
}

static void
every_size_and_alignment(void)
{
    boot();
    unsigned wrong = 0;
    for (size_t alignment = 1; alignment <= 16384; alignment *= 2) {
        for (size_t size = 1; size <= HEW_SMALL_MAX + 64; size += size < 300 ? 1 : 13) {
            wrong += check_one(size, alignment);
            CHECK(hew_fast_take_aligned(size, alignment) == NULL); /* which knows the usual classes only */
        }
    }
    CHECK_EQUAL(wrong, 0);
    layers_end_thread();
    CHECK(layers_settled());
}

TEST(every_size_gets_the_smallest_own_class_that_is_aligned_as_asked)
{
    for (variant = 1; variant <= TABLES; variant++) {
        CHECK_EQUAL(child_run(every_size_and_alignment).status, 0);
    }
}

static void
every_malloc(void)
{
    boot();
    for (size_t size = 1; size <= HEW_SMALL_MAX; size++) {
        unsigned char *object = layers_malloc(size);
        size_t usable = hew_alloc_usable("malloc_usable_size", object);
        CHECK_EQUAL(usable, smallest(size, 1));
        CHECK_EQUAL((uintptr_t)object % (size <= 8 ? 8 : 16), 0);
        hew_alloc_is_sized("free_sized", object, size, 0);
        memset(object, 0x5a, usable);
        CHECK(hew_realloc_object(object, usable) == object); /* the class stays the size's */
        unsigned char *moved = hew_realloc_object(object, usable + 1);
        CHECK(moved != object && moved[0] == 0x5a && moved[usable - 1] == 0x5a);
        CHECK(hew_fast_give_sized(moved, usable + 1) || (layers_free(moved), true));
    }
    layers_end_thread();
    CHECK(layers_settled());
}

TEST(every_size_gets_the_smallest_own_class_and_stays_in_it_until_it_grows_beyond)
{
    for (variant = 1; variant <= TABLES; variant++) {
        CHECK_EQUAL(child_run(every_malloc).status, 0);
    }
}

static void
a_class_in_great_demand(void)
{
    boot();
    enum { COUNT = 20000 };
    static void *objects[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        objects[i] = layers_malloc(900); /* whose eighth slab would open a fine class among the usual ones */
        CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", objects[i]), smallest(900, 1));
    }
    for (unsigned i = 0; i < COUNT; i++) {
        layers_free(objects[i]);
    }
    layers_end_thread();
    CHECK(layers_settled());
}

TEST(no_demand_changes_a_table_of_ones_own)
{
    variant = 3;
    CHECK_EQUAL(child_run(a_class_in_great_demand).status, 0);
}
