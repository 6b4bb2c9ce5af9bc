/* SPDX-License-Identifier: MIT */
/* harden: what is right is never reported, and a misuse that a hook has received changes nothing. */
#include "hardened.h"

#include "cache/magazine.h"

#include <string.h>

static bool
reported(const char *words)
{
    bool right = harden_reports == 1 && strstr(harden_last, words) != NULL;
    harden_reports = 0;
    return right;
}

TEST(objects_of_every_size_come_and_go_without_a_report)
{
    harden_begin(HEW_HARDENING_CHECK);
    static void *objects[3000];
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 3000; i++) {
            size_t size = i * (round + 1) % 40000;
            objects[i] = layers_malloc(size);
            memset(objects[i], 0xff, size);
            CHECK(hew_alloc_usable("malloc_usable_size", objects[i]) >= size);
        }
        for (unsigned i = 0; i < 3000; i++) {
            layers_free(objects[(i * 7) % 3000]);
        }
    }
    CHECK_EQUAL(harden_reports, 0);
}

TEST(a_second_free_is_reported_and_the_object_goes_out_once)
{
    harden_begin(HEW_HARDENING_CHECK);
    void *first = layers_malloc(64), *second = layers_malloc(64);
    layers_free(first);
    layers_free(second);
    layers_free(first);
    CHECK(reported("double free: the 64-byte object"));
    void *again[2] = {layers_malloc(64), layers_malloc(64)};
    CHECK(again[0] != again[1]);
    layers_free(again[0]);
    layers_free(again[1]);
    CHECK_EQUAL(harden_reports, 0);
}

TEST(each_address_inside_an_object_is_reported)
{
    harden_begin(HEW_HARDENING_CHECK);
    char *object = layers_malloc(96);
    for (unsigned inside = 1; inside < 96; inside++) {
        layers_free(object + inside);
        CHECK(reported("points inside an allocation: inside the 96-byte object"));
    }
    layers_free(object);
    CHECK_EQUAL(harden_reports, 0);
}

TEST(a_write_to_a_free_object_is_reported_when_it_goes_out)
{
    harden_begin(HEW_HARDENING_CHECK);
    char *object = layers_malloc(64);
    layers_free(object);
    object[0]++;
    CHECK(layers_malloc(64) == object && reported("written to after it was freed"));
    layers_free(object);
}

TEST(a_canary_does_not_reach_the_program)
{
    harden_begin(HEW_HARDENING_CHECK);
    char *object = layers_malloc(64);
    layers_free(object);
    static const char zeros[8];
    CHECK(layers_malloc(64) == object && memcmp(object, zeros, 8) == 0);
    layers_free(object);
}

TEST(free_regions_may_lose_their_contents)
{
    harden_begin(HEW_HARDENING_CHECK);
    char *object = layers_malloc(64), *other = layers_malloc(64);
    struct hew_extent *slab = hew_map_extent((uintptr_t)object);
    layers_free(object);
    hew_magazine_send_all_home(hew_cache_self->real);
    hew_slab_forget_contents(slab);
    memset(object, 0, 64);
    for (unsigned i = 0; i < 256; i++) {
        CHECK(layers_malloc(64) != NULL);
    }
    CHECK_EQUAL(harden_reports, 0);
    layers_free(other);
}
