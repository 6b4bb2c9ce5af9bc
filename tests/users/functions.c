/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's allocation functions with their flags, on every size that matters and on sizes around every class.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

static bool
all_bytes(const unsigned char *object, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++) {
        if (object[i] != value) {
            return false;
        }
    }
    return true;
}

TEST(nallocx_says_what_mallocx_will_give)
{
    for (size_t size = 1; size < (size_t)3 << 20; size += 1 + size / 17) {
        for (int lg = 0; lg <= 14; lg += 2) {
            size_t promised = nallocx(size, MALLOCX_LG_ALIGN(lg));
            unsigned char *object = mallocx(size, MALLOCX_LG_ALIGN(lg));
            CHECK(promised >= size && object != NULL);
            CHECK_EQUAL(((uintptr_t)object & (((uintptr_t)1 << lg) - 1)), 0);
            CHECK_EQUAL(sallocx(object, 0), promised);
            CHECK_EQUAL(malloc_usable_size(object), promised);
            object[0] = object[promised - 1] = 1;
            sdallocx(object, size, MALLOCX_LG_ALIGN(lg));
        }
    }
}

/* 5.3.1 rounds up to pages, 5.3.0 to classes; so do we up to 1 MiB. */
TEST(large_sizes_are_whole_pages_and_no_more_than_a_class)
{
    for (size_t size = 14337; size < (size_t)4 << 20; size += 3333) {
        size_t foretold = nallocx(size, 0), class = (size_t)4096;
        while (class * 4 < size) {
            class *= 2;
        }
        CHECK(foretold >= size && foretold % 4096 == 0 && foretold < size + class);
        void *object = mallocx(size, 0);
        CHECK_EQUAL(sallocx(object, 0), foretold);
        dallocx(object, 0);
    }
}

TEST(nallocx_of_what_cannot_be_is_0)
{
    CHECK_EQUAL(nallocx(SIZE_MAX, 0), 0);
    CHECK_EQUAL(nallocx((size_t)PTRDIFF_MAX + 1, 0), 0);
    CHECK_EQUAL(nallocx(SIZE_MAX - 4096, MALLOCX_ALIGN(4096)), 0);
    CHECK(mallocx((size_t)PTRDIFF_MAX + 1, 0) == NULL);
    CHECK(mallocx((size_t)1 << 62, 0) == NULL);
    CHECK(mallocx(1, MALLOCX_LG_ALIGN(62)) == NULL);
}

TEST(zero_is_zero_for_new_memory_and_for_what_grew)
{
    for (size_t size = 1; size < (size_t)9 << 20; size = size * 3 + 5) {
        unsigned char *object = malloc(size);
        memset(object, 0xff, size);
        free(object);
        object = mallocx(size, MALLOCX_ZERO);
        CHECK(all_bytes(object, malloc_usable_size(object) < size ? 0 : size, 0));
        memset(object, 0xee, sallocx(object, 0));
        size_t before = sallocx(object, 0);
        object = rallocx(object, size * 3, MALLOCX_ZERO);
        CHECK(all_bytes(object, before, 0xee));
        CHECK(all_bytes(object + before, size * 3 > before ? size * 3 - before : 0, 0));
        dallocx(object, 0);
    }
}

TEST(rallocx_keeps_the_contents_and_the_alignment)
{
    for (int lg = 4; lg <= 21; lg++) {
        unsigned char *object = mallocx(100, MALLOCX_LG_ALIGN(lg));
        memset(object, 0x5c, 100);
        static const size_t sizes[] = {200, 5000, 100000, 3 << 20, 70000, 300, 100};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            object = rallocx(object, sizes[i], MALLOCX_LG_ALIGN(lg));
            CHECK(object != NULL && ((uintptr_t)object & (((uintptr_t)1 << lg) - 1)) == 0);
            CHECK(all_bytes(object, 100, 0x5c));
            CHECK_EQUAL(sallocx(object, 0), nallocx(sizes[i], MALLOCX_LG_ALIGN(lg)));
        }
        dallocx(object, 0);
    }
}

TEST(rallocx_that_cannot_leaves_the_object_alone)
{
    unsigned char *object = mallocx(1000, 0);
    memset(object, 7, 1000);
    CHECK(rallocx(object, (size_t)PTRDIFF_MAX, 0) == NULL);
    CHECK(all_bytes(object, 1000, 7));
    dallocx(object, 0);
}

TEST(xallocx_never_moves_and_says_the_real_size)
{
    unsigned char *object = mallocx(100, 0);
    CHECK_EQUAL(xallocx(object, 100, 0, 0), 112);
    CHECK_EQUAL(xallocx(object, 112, 0, 0), 112);
    CHECK_EQUAL(xallocx(object, 50, 60, 0), 112);
    CHECK_EQUAL(xallocx(object, 5000, 0, 0), 112);
    CHECK_EQUAL(xallocx(object, 100, SIZE_MAX - 100, 0), 112);
    dallocx(object, 0);
    object = mallocx(64 << 10, 0);
    memset(object, 9, 64 << 10);
    size_t shrunk = xallocx(object, 32 << 10, 0, 0);
    CHECK(shrunk >= 32 << 10 && shrunk <= 64 << 10);
    CHECK_EQUAL(shrunk, sallocx(object, 0));
    CHECK(all_bytes(object, 32 << 10, 9));
    size_t grown = xallocx(object, 32 << 10, 4 << 20, MALLOCX_ZERO);
    CHECK(grown >= shrunk);
    CHECK_EQUAL(grown, sallocx(object, 0));
    CHECK(all_bytes(object + shrunk, grown - shrunk, 0));
    memset(object, 1, grown);
    dallocx(object, 0);
}

TEST(an_arena_and_a_cache_can_be_named_in_the_flags)
{
    unsigned arena = ctl_new_arena(), cache = ctl_unsigned("tcache.create"), owner = 0;
    int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE(cache);
    size_t length = sizeof owner;
    for (size_t size = 1; size < 100000; size = size * 2 + 3) {
        void *object = mallocx(size, flags | MALLOCX_ALIGN(64));
        CHECK(object != NULL && ((uintptr_t)object & 63) == 0);
        object = rallocx(object, size * 2, flags);
        CHECK(object != NULL);
        dallocx(object, flags);
        object = mallocx(size, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
        length = sizeof owner;
        CHECK_EQUAL(mallctl("arenas.lookup", &owner, &length, &object, sizeof object), 0);
        CHECK_EQUAL(owner, arena);
        sdallocx(object, size, MALLOCX_TCACHE_NONE);
    }
    CHECK_EQUAL(ctl_write("tcache.destroy", &cache, sizeof cache), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

/* Redis's defragmentation: take around the cache, copy, free around the cache. */
TEST(without_a_cache_the_lowest_free_place_is_taken)
{
    enum { OBJECTS = 4096 };
    static void *objects[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = mallocx(320, MALLOCX_TCACHE_NONE);
    }
    uintptr_t highest = 0;
    for (int i = 0; i < OBJECTS; i++) {
        highest = (uintptr_t)objects[i] > highest ? (uintptr_t)objects[i] : highest;
        if (i % 4 != 3) {
            dallocx(objects[i], MALLOCX_TCACHE_NONE);
        }
    }
    int lower = 0;
    for (int i = 3; i < OBJECTS; i += 4) {
        void *moved = mallocx(320, MALLOCX_TCACHE_NONE);
        lower += (uintptr_t)moved < (uintptr_t)objects[i];
        dallocx(objects[i], MALLOCX_TCACHE_NONE);
        objects[i] = moved;
        CHECK((uintptr_t)moved <= highest);
    }
    CHECK(lower > OBJECTS / 4 / 2);
    for (int i = 3; i < OBJECTS; i += 4) {
        dallocx(objects[i], MALLOCX_TCACHE_NONE);
    }
}

struct printed {
    size_t bytes, calls, unterminated;
    char first[64], last[64];
};

static void
collect(void *opaque, const char *text)
{
    struct printed *printed = opaque;
    size_t length = strlen(text), kept = length < 63 ? length : 63, before = strlen(printed->last);
    if (printed->calls++ == 0) {
        memcpy(printed->first, text, kept);
    }
    /* The end of all of it: where a piece ends depends on how long the numbers are. */
    size_t older = before + kept > 63 ? 63 - kept : before;
    memmove(printed->last, printed->last + before - older, older);
    memcpy(printed->last + older, text + length - kept, kept);
    printed->last[older + kept] = 0;
    printed->bytes += length;
}

TEST(statistics_are_printed_as_text_and_as_json)
{
    struct printed text = {0}, json = {0}, brief = {0};
    malloc_stats_print(collect, &text, NULL);
    CHECK(strncmp(text.first, "___ Begin jemalloc statistics ___\n", 34) == 0);
    CHECK(strstr(text.last, "--- End jemalloc statistics ---\n") != NULL);
    malloc_stats_print(collect, &json, "J");
    CHECK(strncmp(json.first, "{\"jemalloc\":{\"version\":\"", 24) == 0);
    CHECK(json.bytes > 20000 && strcmp(json.last + strlen(json.last) - 2, "}}") == 0);
    malloc_stats_print(collect, &brief, "Jgmdablxeh");
    CHECK(brief.bytes > 100 && brief.bytes < 900);
}

static char message[4096];

static void
keep_message(void *opaque, const char *text)
{
    (void)opaque;
    strncat(message, text, sizeof message - strlen(message) - 1);
}

extern void (*malloc_message)(void *opaque, const char *text) WEAK;

TEST(without_a_callback_statistics_go_to_malloc_message)
{
    CHECK(&malloc_message != NULL);
    malloc_message = keep_message;
    malloc_stats_print(NULL, NULL, "gmdablxeh");
    CHECK(strstr(message, "Begin jemalloc statistics") != NULL);
    malloc_message = NULL;
}
