/* SPDX-License-Identifier: MIT */
#include "alloc/realloc.h"

#include "alloc/request.h"
#include "layers_alloc.h"
#include "test.h"

#define MIB ((size_t)1 << 20)
#define SEVERAL 16u

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 1;
    }
}

static void
end_test(void)
{
    layers_end_thread();
    CHECK(layers_settled());
}

static void
paint(unsigned char *bytes, size_t from, size_t to, unsigned seed)
{
    for (size_t i = from; i < to; i++) {
        bytes[i] = (unsigned char)((i * 31 + i / 4096 + seed) & 0xff);
    }
}

static bool
painted(const unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != (unsigned char)((i * 31 + i / 4096 + seed) & 0xff)) {
            return false;
        }
    }
    return true;
}

static size_t
usable(const void *object)
{
    return hew_alloc_usable("malloc_usable_size", object);
}

static bool
only_mremap(const char *call)
{
    return strcmp(call, "mremap") == 0;
}

/* Fills objects[]; the one that has another right behind it.  Each is a new mapping, which the system lays beside the last
 * one unless it finds a hole; where holes are is chance, so there are several to choose from. */
static unsigned char *
several(unsigned char **objects, size_t size)
{
    for (unsigned i = 0; i < SEVERAL; i++) {
        objects[i] = layers_malloc(size);
    }
    for (unsigned pair = 0; pair < SEVERAL * SEVERAL; pair++) {
        if (objects[pair % SEVERAL] == objects[pair / SEVERAL] + size) {
            return objects[pair / SEVERAL];
        }
    }
    CHECK(!"two objects side by side");
    return objects[0];
}

/* The first one: the heap has not been short of memory yet, and keeps what is freed at hand. */
TEST(zeroed_memory_is_zero_where_pages_could_not_be_moved_before)
{
    boot_once();
    unsigned char *objects[SEVERAL];
    unsigned char *object = several(objects, 4 * MIB);
    hew_os_faults.refuse = only_mremap;
    unsigned char *copy = hew_realloc_object(object, 9 * MIB); /* into the place to which nothing could be moved */
    hew_os_faults.refuse = NULL;
    CHECK(copy != NULL && copy != object);
    paint(copy, 0, 9 * MIB, 9);
    layers_free(copy);
    unsigned char *zeroed = hew_alloc_large(9 * MIB, true);
    CHECK(zeroed != NULL && zeroed[0] == 0 && memcmp(zeroed, zeroed + 1, 9 * MIB - 1) == 0);
    layers_free(zeroed);
    for (unsigned i = 0; i < SEVERAL; i++) {
        if (objects[i] != object) {
            layers_free(objects[i]);
        }
    }
    end_test();
}

TEST(contents_survive_every_change_of_class)
{
    boot_once();
    static const size_t sizes[] = {1, 8, 9, 100, 1000, 14336, 14337, 16384, 40000, 300000, MIB, MIB + 1, 3 * MIB};
    unsigned count = sizeof sizes / sizeof sizes[0];
    for (unsigned from = 0; from < count; from++) {
        for (unsigned to = 0; to < count; to++) {
            unsigned char *object = layers_malloc(sizes[from]);
            paint(object, 0, sizes[from], from);
            object = hew_realloc_object(object, sizes[to]);
            CHECK(object != NULL && usable(object) >= sizes[to]);
            CHECK(painted(object, sizes[from] < sizes[to] ? sizes[from] : sizes[to], from));
            hew_alloc_is_sized("free_sized", object, sizes[to], 0);
            paint(object, 0, sizes[to], to);
            layers_free(object);
        }
    }
    end_test();
}

TEST(an_object_stays_where_it_is_while_its_class_stays)
{
    boot_once();
    unsigned char *small = layers_malloc(100), *large = layers_malloc(20000);
    CHECK(hew_realloc_object(small, 97) == small && hew_realloc_object(small, 112) == small);
    CHECK(hew_realloc_object(large, 17000) == large);
    CHECK_EQUAL(usable(large), 20480);
    CHECK(hew_realloc_object(large, 16385) == large && hew_realloc_object(large, 20480) == large);
    layers_free(small);
    layers_free(large);
    end_test();
}

TEST(a_small_object_moves_when_its_class_changes)
{
    boot_once();
    unsigned char *object = layers_malloc(100);
    paint(object, 0, 100, 3);
    unsigned char *larger = hew_realloc_object(object, 113);
    CHECK(larger != object && painted(larger, 100, 3));
    unsigned char *smaller = hew_realloc_object(larger, 40);
    CHECK(smaller != larger && painted(smaller, 40, 3));
    CHECK_EQUAL(usable(smaller), hew_code_size(hew_code_of_size(40)));
    layers_free(smaller);
    end_test();
}

TEST(a_large_object_shrinks_where_it_is_and_its_tail_is_free)
{
    boot_once();
    unsigned char *object = layers_malloc(8 * MIB);
    paint(object, 0, 8 * MIB, 5);
    struct hew_page_heap *pages = hew_arena_at(0)->pages.heap;
    size_t before = hew_page_counts(pages).active;
    CHECK(hew_realloc_object(object, 3 * MIB + 5) == object);
    CHECK_EQUAL(usable(object), 3 * MIB + HEW_PAGE);
    CHECK_EQUAL(hew_page_counts(pages).active, before - 5 * MIB + HEW_PAGE);
    CHECK(hew_realloc_object(object, 30000) == object); /* to a class that threads cache */
    CHECK_EQUAL(hew_map_code((uintptr_t)object), hew_code_of_size(30000));
    CHECK_EQUAL(usable(object), 32768);
    CHECK(painted(object, 30000, 5));
    layers_free(object);
    end_test();
}

TEST(a_large_object_grows_where_it_is_over_free_pages)
{
    boot_once();
    unsigned char *object = layers_malloc(4 * MIB);
    paint(object, 0, 4 * MIB, 6);
    CHECK(hew_realloc_object(object, 2 * MIB) == object);
    CHECK(hew_realloc_object(object, 3 * MIB) == object);
    CHECK(hew_realloc_object(object, 4 * MIB) == object);
    CHECK_EQUAL(usable(object), 4 * MIB);
    CHECK(painted(object, 2 * MIB, 6));
    layers_free(object);
    end_test();
}

/* An object with another one right behind it, so that it can only move. */
static unsigned char *
hemmed_in(size_t size, void **neighbour)
{
    unsigned char *objects[SEVERAL];
    hew_request_relieve(); /* no free pages */
    unsigned char *object = several(objects, size), *behind = object + size;
    for (unsigned i = 0; i < SEVERAL; i++) {
        if (objects[i] != object && objects[i] != behind) {
            layers_free(objects[i]);
        }
    }
    *neighbour = behind;
    return object;
}

TEST(a_very_large_object_moves_with_its_pages)
{
    boot_once();
    void *neighbour;
    unsigned char *object = hemmed_in(4 * MIB, &neighbour);
    paint(object, 0, 4 * MIB, 8);
    unsigned char *moved = hew_realloc_object(object, 9 * MIB);
    CHECK(moved != NULL && moved != object);
    CHECK(painted(moved, 4 * MIB, 8));
    paint(moved, 4 * MIB, 9 * MIB, 8);
    CHECK(painted(moved, 9 * MIB, 8));
    CHECK_EQUAL(hew_map_code((uintptr_t)object), HEW_CODE_NONE);
    layers_free(neighbour);
    layers_free(moved);
    end_test();
}

TEST(contents_are_copied_when_pages_cannot_be_moved)
{
    boot_once();
    void *neighbour;
    unsigned char *object = hemmed_in(4 * MIB, &neighbour);
    paint(object, 0, 4 * MIB, 9);
    hew_os_faults.refuse = only_mremap;
    unsigned char *moved = hew_realloc_object(object, 9 * MIB);
    hew_os_faults.refuse = NULL;
    CHECK(moved != NULL && moved != object && painted(moved, 4 * MIB, 9));
    layers_free(neighbour);
    layers_free(moved);
    end_test();
}

TEST(without_memory_the_object_stays_as_it_was)
{
    boot_once();
    static const size_t sizes[] = {100, 20000, 2 * MIB};
    for (unsigned i = 0; i < 3; i++) {
        unsigned char *object = layers_malloc(sizes[i]);
        paint(object, 0, sizes[i], i);
        size_t before = usable(object);
        hew_os_faults.refuse = layers_refuse_everything;
        CHECK(hew_realloc_object(object, 300 * MIB) == NULL);
        hew_os_faults.refuse = NULL;
        CHECK(hew_realloc_object(object, HEW_SIZE_MAX) == NULL);
        CHECK(hew_realloc_object(object, SIZE_MAX) == NULL);
        CHECK(painted(object, sizes[i], i));
        CHECK_EQUAL(usable(object), before);
        layers_free(object);
    }
    end_test();
}

TEST(a_smaller_size_needs_no_memory)
{
    boot_once();
    void **taken = NULL, **next;
    unsigned char *object = layers_malloc(20000);
    paint(object, 0, 20000, 3);
    hew_os_faults.refuse = layers_refuse_everything;
    while ((next = layers_malloc(100)) != NULL) { /* until not one object of the class is left */
        *next = taken;
        taken = next;
    }
    CHECK(hew_realloc_object(object, 100) == object);
    hew_os_faults.refuse = NULL;
    CHECK(painted(object, 100, 3));
    layers_free(object);
    for (; taken != NULL; taken = next) {
        next = *taken;
        layers_free(taken);
    }
    end_test();
}

TEST(an_object_of_another_arena_is_resized_in_its_own)
{
    boot_once();
    struct hew_arena *other = hew_arena_get(5);
    struct hew_extent *extent = hew_large_take(other, 6 * MIB, HEW_PAGE, HEW_CODE_SLOW);
    unsigned char *object = (unsigned char *)extent->address;
    paint(object, 0, 6 * MIB, 2);
    CHECK(hew_realloc_object(object, 5 * MIB) == object);
    CHECK(hew_realloc_object(object, 6 * MIB) == object);
    CHECK(painted(object, 5 * MIB, 2));
    hew_alloc_free("free", object);
    CHECK_EQUAL(layers_large(other).ndalloc, layers_large(other).nmalloc);
    CHECK_EQUAL(other->large_bytes, 0);
    CHECK_EQUAL(hew_page_counts(other->pages.heap).active, 0);
    end_test();
}

TEST(a_guarded_object_keeps_its_guard_and_its_contents_when_it_is_resized)
{
    boot_once();
    hew_options.san_guard_large = 1;
    unsigned char *object = layers_malloc(3 * MIB - 100);
    paint(object, 0, 3 * MIB - 100, 1);
    CHECK(hew_realloc_object(object, 3 * MIB) == object);
    unsigned char *larger = hew_realloc_object(object, 5 * MIB);
    CHECK(larger != object && painted(larger, 3 * MIB - 100, 1));
    CHECK_EQUAL(usable(larger), 5 * MIB);
    unsigned char *smaller = hew_realloc_object(larger, 20000);
    CHECK(painted(smaller, 20000, 1));
    hew_options.san_guard_large = 0;
    unsigned char *plain = hew_realloc_object(smaller, 6 * MIB);
    CHECK(painted(plain, 20000, 1));
    layers_free(plain);
    end_test();
}

TEST(usable_sizes_follow_the_classes_when_that_is_asked_for)
{
    boot_once();
    hew_options.disable_large_size_classes = false;
    unsigned char *object = layers_malloc(20 * MIB + 1);
    CHECK_EQUAL(usable(object), 24 * MIB);
    paint(object, 0, 20 * MIB, 1);
    CHECK(hew_realloc_object(object, 23 * MIB) == object);
    CHECK_EQUAL(usable(object), 24 * MIB);
    unsigned char *larger = hew_realloc_object(object, 25 * MIB);
    CHECK_EQUAL(usable(larger), 28 * MIB);
    CHECK(painted(larger, 20 * MIB, 1));
    layers_free(larger);
    hew_options.disable_large_size_classes = true;
    end_test();
}
