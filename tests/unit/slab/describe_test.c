/* SPDX-License-Identifier: MIT */
/* describe: the last words about each kind of bad address, word for word: a program's user has nothing else. */
#include "slab/describe.h"

#include "layers.h"
#include "test.h"

#include "fakes/child.h"

#include <signal.h>
#include <stdarg.h>

#define MIB ((size_t)1 << 20)

static struct hew_arena *arena;
static uintptr_t address; /* what is told of */

static void
describe(void)
{
    hew_describe_bad_pointer("free", address);
}

static void
describe_free(void)
{
    hew_describe_free("realloc", address);
}

/* Ends in a process of its own, with just that line. */
static bool
says(void (*body)(void), const char *format, ...)
{
    char line[512];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    struct child_end end = child_run(body);
    bool same = strcmp(end.error, line) == 0 && WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT;
    if (!same) {
        printf("%s is not\n%s", end.error, line);
    }
    return same;
}

static uintptr_t
take_small(size_t size)
{
    unsigned code = hew_code_of_size(size);
    void *object = NULL;
    CHECK_EQUAL(hew_bin_take(&arena->bins[code], &arena->pages, code, &object, 1), 1);
    return (uintptr_t)object;
}

static struct hew_extent *
take_large(size_t size)
{
    struct hew_extent *extent = hew_large_take(arena, size, HEW_PAGE, hew_large_code(size));
    CHECK(extent != NULL);
    return extent;
}

TEST(the_arena_is_there)
{
    CHECK(layers_boot());
    hew_options.dirty_decay_ms = -1;
    arena = hew_arena_get(0);
    CHECK(arena != NULL);
}

TEST(a_foreign_address_may_be_an_arenas_that_was_destroyed_once_there_was_one)
{
    address = 16;
    CHECK(says(describe,
               "<hew>: free(0x10): not memory that hew gave out: the stack, static data, or another allocator's\n"));
    atomic_store(&hew_arena_was_destroyed, true);
    CHECK(says(describe,
               "<hew>: free(0x10): not memory that hew gave out: an arena's that was destroyed, the stack, static "
               "data, or another allocator's\n"));
    atomic_store(&hew_arena_was_destroyed, false);
}

TEST(an_address_inside_a_small_object_is_told_with_the_object)
{
    uintptr_t object = take_small(112);
    address = object + 8;
    CHECK(says(describe, "<hew>: free(%#zx): points inside an allocation: inside the 112-byte object at %#zx\n",
               (size_t)address, (size_t)object));
    address = object;
    CHECK(says(describe, "<hew>: free(%#zx): double free: the 112-byte object at %#zx is free already\n",
               (size_t)object, (size_t)object));
    CHECK(says(describe_free,
               "<hew>: realloc(%#zx): not a live allocation: the 112-byte object at %#zx is free already\n",
               (size_t)object, (size_t)object));
}

TEST(the_tail_of_a_slab_is_no_object)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        const struct hew_slab_shape *shape = &hew_slab_shapes[code];
        if (shape->pages * HEW_PAGE - shape->regions * shape->size >= 16) {
            uintptr_t object = take_small(shape->size);
            const struct hew_extent *slab = hew_map_extent(object);
            address = slab->address + shape->regions * shape->size;
            CHECK(says(describe, "<hew>: free(%#zx): points inside an allocation: in the unused tail of a slab\n",
                       (size_t)address));
            return;
        }
    }
    CHECK(false); /* there is a class with a tail */
}

TEST(an_address_far_inside_a_large_object_is_told_with_the_object)
{
    struct hew_extent *large = take_large(3 * MIB);
    address = large->address + 2 * MIB + 17;
    CHECK(says(describe, "<hew>: free(%#zx): points inside an allocation: inside the 3145728-byte object at %#zx\n",
               (size_t)address, (size_t)large->address));
    address = large->address;
    CHECK(says(describe, "<hew>: free(%#zx): double free: the 3145728-byte object at %#zx is free already\n",
               (size_t)address, (size_t)address));
    hew_large_give(large);
    hew_page_sweep(arena->pages.heap);
    CHECK(says(describe, "<hew>: free(%#zx): not a live allocation: these pages have been freed already\n",
               (size_t)address));
    CHECK(says(describe_free, "<hew>: realloc(%#zx): not a live allocation: the object is free already\n",
               (size_t)address));
}

TEST(the_object_around_an_address_is_looked_for_among_16_mebibytes_below)
{
    struct hew_extent *large = take_large(20 * MIB);
    address = large->address + 4095 * HEW_PAGE + 17;
    CHECK(says(describe, "<hew>: free(%#zx): points inside an allocation: inside the 20971520-byte object at %#zx\n",
               (size_t)address, (size_t)large->address));
    address += HEW_PAGE;
    CHECK(says(describe,
               "<hew>: free(%#zx): not memory that hew gave out: the stack, static data, or another allocator's\n",
               (size_t)address));
    hew_large_give(large);
    hew_page_sweep(arena->pages.heap);
}

static struct hew_extent *before_hole;

/* What the system mapped right behind is no longer ours. */
static void
describe_behind(void)
{
    address = hew_extent_end(before_hole);
    hew_map_set_extent(address, NULL);
    describe();
}

TEST(what_lies_right_behind_an_object_is_not_inside)
{
    before_hole = take_large(3 * MIB);
    CHECK(says(describe_behind,
               "<hew>: free(%#zx): not memory that hew gave out: the stack, static data, or another allocator's\n",
               (size_t)hew_extent_end(before_hole)));
    hew_large_give(before_hole);
    hew_page_sweep(arena->pages.heap);
}

TEST(what_waits_to_be_used_again_is_free)
{
    struct hew_extent *large = take_large(5 * MIB);
    CHECK(hew_large_keep(large));
    address = large->address;
    CHECK(says(describe, "<hew>: free(%#zx): not a live allocation: the 5242880-byte object at %#zx is free already\n",
               (size_t)address, (size_t)address));
    address = large->address + HEW_PAGE;
    CHECK(says(describe, "<hew>: free(%#zx): not a live allocation: these pages have been freed already\n",
               (size_t)address));
}
