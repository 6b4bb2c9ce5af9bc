/* SPDX-License-Identifier: MIT */
/* Two allocators in one program: libc's, and a hew whose names begin with je_. */
#include "test.h"

#include <jemalloc/jemalloc.h>

#include <malloc.h>

const char *je_malloc_conf = "narenas:7";

TEST(each_allocator_has_its_own_objects)
{
    unsigned char *ours = je_malloc(100), *libcs = malloc(100);
    CHECK_EQUAL(je_malloc_usable_size(ours), 112);
    CHECK(malloc_usable_size(libcs) != 112);
    ours = je_rallocx(ours, 100000, MALLOCX_ZERO);
    CHECK_EQUAL(je_sallocx(ours, 0), 114688);
    je_sdallocx(ours, 100000, 0);
    free(libcs);
}

TEST(the_settings_have_the_prefix_too)
{
    unsigned narenas = 0;
    size_t length = sizeof narenas;
    CHECK_EQUAL(je_mallctl("opt.narenas", &narenas, &length, NULL, 0), 0);
    CHECK_EQUAL(narenas, 7);
}

TEST(redis_hint_is_there)
{
    void *object = je_mallocx(24, MALLOCX_TCACHE_NONE);
    CHECK_EQUAL(je_get_defrag_hint(object), 0);
    CHECK_EQUAL(je_get_defrag_hint(&object), 0);
    je_dallocx(object, MALLOCX_TCACHE_NONE);
}
