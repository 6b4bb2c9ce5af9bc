/* SPDX-License-Identifier: MIT */
/* fill: with junk or zero, threads have no cache, as api/boot.c sees to. */
#include "alloc/fill.h"

#include "layers_alloc.h"
#include "test.h"

static const size_t sizes[] = {1, 8, 100, 1024, 14336, 14337, 20000, 300000, (size_t)3 << 20};
#define SIZES (sizeof sizes / sizeof sizes[0])

static void
begin_test(bool zero, enum hew_junk junk)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        layers_without_caches = true;
    }
    hew_options.zero = zero;
    hew_options.junk = junk;
}

static size_t
usable(const void *object)
{
    return hew_alloc_usable("malloc_usable_size", object);
}

static bool
all_bytes_are(const unsigned char *bytes, size_t size, unsigned char value)
{
    return bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Leaves used memory where the next object of that size will lie. */
static void
soil(size_t size)
{
    void *object = layers_malloc(size);
    memset(object, 0x77, usable(object));
    layers_free(object);
}

TEST(without_the_options_nothing_is_filled)
{
    begin_test(false, HEW_JUNK_FALSE);
    CHECK(!hew_fill_wanted());
    unsigned char byte = 7;
    CHECK(hew_fill_new(&byte, 1) == &byte && hew_fill_new(NULL, 1) == NULL);
    hew_fill_freed(&byte, 1);
    CHECK_EQUAL(byte, 7);
}

TEST(zero_makes_every_byte_of_a_new_object_zero)
{
    for (unsigned i = 0; i < SIZES; i++) {
        begin_test(false, HEW_JUNK_FALSE);
        soil(sizes[i]);
        begin_test(true, HEW_JUNK_FALSE);
        unsigned char *object = layers_malloc(sizes[i]);
        CHECK(all_bytes_are(object, usable(object), 0));
        layers_free(object);
    }
    CHECK(layers_settled());
}

TEST(junk_fills_new_and_freed_objects_as_asked)
{
    static const enum hew_junk kinds[] = {HEW_JUNK_TRUE, HEW_JUNK_ALLOC, HEW_JUNK_FREE};
    for (unsigned kind = 0; kind < 3; kind++) {
        for (unsigned i = 0; i < SIZES; i++) {
            begin_test(false, HEW_JUNK_FALSE);
            soil(sizes[i]);
            begin_test(false, kinds[kind]);
            unsigned char *object = layers_malloc(sizes[i]);
            size_t size = usable(object);
            CHECK(kinds[kind] == HEW_JUNK_FREE || all_bytes_are(object, size, HEW_JUNK_NEW));
            memset(object, 0x42, size);
            layers_free(object); /* the memory stays readable: dirty pages, or a slab */
            CHECK(all_bytes_are(object, size, kinds[kind] == HEW_JUNK_ALLOC ? 0x42 : HEW_JUNK_OLD));
        }
    }
    CHECK(layers_settled());
}

TEST(what_realloc_adds_is_filled_and_what_was_there_is_not)
{
    static const size_t steps[][2] = {{100, 1000},
                                      {1000, 20000},
                                      {20000, 20480},
                                      {20000, 24000},
                                      {30000, 300000},
                                      {(size_t)2 << 20, (size_t)3 << 20},
                                      {(size_t)2 << 20, (size_t)90 << 20}};
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (unsigned zero = 0; zero < 2; zero++) {
            begin_test(false, HEW_JUNK_FALSE);
            soil(steps[i][1]); /* used pages, over which the object can grow */
            begin_test(zero != 0, zero != 0 ? HEW_JUNK_FALSE : HEW_JUNK_TRUE);
            unsigned char *object = layers_malloc(steps[i][0]);
            size_t before = usable(object);
            memset(object, 0x42, before);
            object = hew_realloc_object(object, steps[i][1]);
            CHECK(all_bytes_are(object, before, 0x42));
            if (usable(object) > before) {
                CHECK(all_bytes_are(object + before, usable(object) - before, zero != 0 ? 0 : HEW_JUNK_NEW));
            }
            layers_free(object);
        }
    }
    CHECK(layers_settled());
}
