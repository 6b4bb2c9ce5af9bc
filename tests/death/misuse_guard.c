/* SPDX-License-Identifier: MIT */
/* What hardening:sample finds: each misuse of a guarded object, by the call or by the access itself. */
#include "misuse.h"

#include "jemalloc/jemalloc.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>

#define SAMPLE "hardening:sample,guard_rate:1000"

/* By name: the library may be preloaded. */
#define CALL(name) ((__typeof__(name) *)dlsym(RTLD_DEFAULT, #name))

static uint64_t
guarded_so_far(void)
{
    uint64_t count = 0;
    size_t size = sizeof count;
    CALL(mallctl)("stats.guard.guarded", &count, &size, NULL, 0);
    return count;
}

/* An object that is guarded, at the end of its pages or at the beginning. */
static char *
take_guarded(size_t size, size_t class, bool at_end)
{
    for (;;) {
        uint64_t before = guarded_so_far();
        char *object = opaque(malloc(size));
        bool right = at_end ? ((uintptr_t)object + class) % 4096 == 0 : (uintptr_t)object % 4096 == 0;
        if (guarded_so_far() != before && right) {
            misuse_announce(object);
            return object;
        }
        free(object);
    }
}

static void
read_after_free(void)
{
    char *object = take_guarded(100, 112, true);
    misuse_announce(object + 8);
    free(object);
    unseen = (void *)(uintptr_t)*(volatile char *)opaque(object + 8);
}

static void
write_after_free(void)
{
    char *object = take_guarded(100, 112, false);
    free(object);
    *(volatile char *)opaque(object) = 1;
}

static void
write_a_byte_behind_the_pages(void)
{
    char *object = take_guarded(64, 64, true);
    misuse_announce(object + 64);
    ((volatile char *)opaque(object))[64] = 1;
}

static void
read_a_byte_before_the_pages(void)
{
    char *object = take_guarded(64, 64, false);
    misuse_announce(object - 1);
    unseen = (void *)(uintptr_t)((volatile char *)opaque(object))[-1];
}

static void
write_a_byte_behind_the_request(void)
{
    char *object = take_guarded(60, 64, true);
    ((volatile char *)opaque(object))[60] = 0;
    free(object);
}

static void
write_a_byte_before_the_object(void)
{
    char *object = take_guarded(60, 64, true);
    ((volatile char *)opaque(object))[-1] = 0;
    free(object);
}

static void
free_guarded_twice(void)
{
    char *object = take_guarded(60, 64, true);
    free(object);
    free(opaque(object));
}

static void
free_guarded_inside(void)
{
    char *object = take_guarded(60, 64, true);
    misuse_announce(object + 16);
    free(opaque(object + 16));
}

static void
free_beside_guarded(void)
{
    char *object = take_guarded(60, 64, true);
    misuse_announce(object - 64);
    free(opaque(object - 64));
}

static void
usable_size_of_freed_guarded(void)
{
    char *object = take_guarded(60, 64, true);
    free(object);
    malloc_usable_size(opaque(object));
}

#define THE "the 60-byte object at %0"

const struct misuse guard_misuses[] = {
    {"read_after_free", read_after_free, SAMPLE,
     "<hew>: SIGSEGV(%1): use after free: read at byte 8 of the 100-byte object at %0"},
    {"write_after_free", write_after_free, SAMPLE,
     "<hew>: SIGSEGV(%0): use after free: write at byte 0 of the 100-byte object at %0"},
    {"write_a_byte_behind_the_pages", write_a_byte_behind_the_pages, SAMPLE,
     "<hew>: SIGSEGV(%1): overflow: write 0 bytes behind the 64-byte object at %0"},
    {"read_a_byte_before_the_pages", read_a_byte_before_the_pages, SAMPLE,
     "<hew>: SIGSEGV(%1): underflow: read 1 byte before the 64-byte object at %0"},
    {"write_a_byte_behind_the_request", write_a_byte_behind_the_request, SAMPLE, FREE "written beyond its end: " THE},
    {"write_a_byte_before_the_object", write_a_byte_before_the_object, SAMPLE,
     FREE "written before its beginning: " THE},
    {"free_guarded_twice", free_guarded_twice, SAMPLE, FREE "double free: " THE " is free already"},
    {"free_guarded_inside", free_guarded_inside, SAMPLE, "<hew>: free(%1): points inside an allocation: inside " THE},
    {"free_beside_guarded", free_beside_guarded, SAMPLE, "<hew>: free(%1): not memory that hew gave out: beside " THE},
    {"usable_size_of_freed_guarded", usable_size_of_freed_guarded, SAMPLE,
     "<hew>: malloc_usable_size(%0): not a live allocation: " THE " is free already"},
    {NULL, NULL, NULL, NULL},
};
