/* SPDX-License-Identifier: MIT */
/*
 * Heap profiles through mallctl, in a process with prof:true,prof_stats:true,lg_prof_sample:0 where every object is a sample.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

struct class_counts {
    uint64_t bytes, count;
};

/* The live samples of the class that serves `size`. */
static struct class_counts
live(size_t size)
{
    struct class_counts counts = {0, 0};
    unsigned bins = ctl_unsigned("arenas.nbins"), larges = ctl_unsigned("arenas.nlextents");
    for (unsigned i = 0; i < bins; i++) {
        if (ctl_size(ctl_name("arenas.bin.%zu.size", i)) == size) {
            CHECK_EQUAL(ctl_read(ctl_name("prof.stats.bins.%zu.live", i), &counts, sizeof counts), 0);
        }
    }
    for (unsigned i = 0; i < larges; i++) {
        if (ctl_size(ctl_name("arenas.lextent.%zu.size", i)) == size) {
            CHECK_EQUAL(ctl_read(ctl_name("prof.stats.lextents.%zu.live", i), &counts, sizeof counts), 0);
        }
    }
    return counts;
}

TEST(an_aligned_object_counts_with_the_bytes_that_were_asked_for)
{
    static const struct {
        size_t size, alignment;
        int flags;
    } requests[] = {{100, 64, 0},      {100, 4096, 0},    {100, 65536, 0},          {100, 64, MALLOCX_TCACHE_NONE},
                    {10000, 65536, 0}, {20001, 65536, 0}, {700, 1024, MALLOCX_ZERO}};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        int flags = MALLOCX_ALIGN(requests[i].alignment) | requests[i].flags;
        size_t usable = nallocx(requests[i].size, flags);
        struct class_counts before = live(usable);
        void *object = mallocx(requests[i].size, flags);
        CHECK_EQUAL(sallocx(object, 0), usable);
        struct class_counts with = live(usable);
        CHECK_EQUAL(with.count, before.count + 1);
        CHECK_EQUAL(with.bytes, before.bytes + requests[i].size);
        dallocx(object, requests[i].flags & ~MALLOCX_ZERO);
        CHECK_EQUAL(live(usable).bytes, before.bytes);
    }
}

/* 5.3.0 keeps all of it, and says EFAULT. */
TEST(a_thread_is_named_in_fifteen_characters_that_can_be_printed)
{
    static const char *const wrong[] = {"two\nlines", "\177", "caf\303\251", NULL};
    const char *name = "0123456789abcdefghi", *given = NULL;
    CHECK_EQUAL(ctl_write("thread.prof.name", &name, sizeof name), 0);
    CHECK_EQUAL(ctl_read("thread.prof.name", &given, sizeof given), 0);
    CHECK_TEXT(given, "0123456789abcde");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQUAL(ctl_write("thread.prof.name", &wrong[i], sizeof wrong[i]), EINVAL);
        CHECK_EQUAL(ctl_read("thread.prof.name", &given, sizeof given), 0);
        CHECK_TEXT(given, "0123456789abcde");
    }
    name = "";
    CHECK_EQUAL(ctl_write("thread.prof.name", &name, sizeof name), 0);
}
