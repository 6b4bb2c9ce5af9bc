/* SPDX-License-Identifier: MIT */
/*
 * survivors_idle: one object in 20 survives, all over the slabs; the pages between them go back while the process is idle.
 *
 * Objects of 512 bytes, 1 KiB and 2 KiB come in turn, and most are freed in another order than they came.  Nothing of the
 * program allocates while it waits.  Then the survivors still hold what was written, and what is allocated next does, too.
 *
 * Settings: HEW_IDLE_MS (how long it may take at the most, default 60000).
 */
#include "under_test.h"
#include "unit/test.h"

enum { OF_512 = 150000, OF_1024 = 100000, OF_2048 = 50000, OBJECTS = OF_512 + OF_1024 + OF_2048, ONE_IN = 20 };

/* 14 MiB live.  A page survives with each survivor: 52 MiB of pages, and with the rest of the process about 57. */
enum { MOST_MIB = 62 };

static unsigned char *objects[OBJECTS];

/* Interleaved: three of the smallest, two of the middle, one of the largest. */
static size_t
size_of(unsigned at)
{
    static const size_t turn[] = {512, 1024, 512, 2048, 512, 1024};
    return turn[at % 6];
}

static bool
holds_marks(unsigned at)
{
    unsigned char mark = (unsigned char)(at * 31);
    for (unsigned byte = 0; byte < size_of(at); byte++) {
        if (objects[at][byte] != mark) {
            return false;
        }
    }
    return true;
}

static void
allocate(unsigned at)
{
    objects[at] = malloc(size_of(at));
    if (objects[at] == NULL) {
        abort();
    }
    memset(objects[at], (int)(at * 31), size_of(at));
}

/* In a scattered order: a step that shares no factor with the count reaches each of them. */
static void
free_most(void)
{
    unsigned step = 100003, at = 0;
    uint64_t random = 1;
    for (unsigned i = 0; i < OBJECTS; i++, at = (at + step) % OBJECTS) {
        if (under_test_random(&random) % ONE_IN != 0) {
            free(objects[at]);
            objects[at] = NULL;
        }
    }
}

static unsigned
count_broken(void)
{
    unsigned broken = 0;
    for (unsigned at = 0; at < OBJECTS; at++) {
        broken += objects[at] != NULL && !holds_marks(at);
    }
    return broken;
}

static void
refill(void)
{
    for (unsigned at = 0; at < OBJECTS; at++) {
        if (objects[at] == NULL) {
            allocate(at);
        }
    }
}

TEST(pages_without_an_object_between_survivors_go_back_while_the_process_is_idle)
{
    long idle_ms = under_test_setting("HEW_IDLE_MS", 60000), most_kib = MOST_MIB * 1024L;
    long floor = under_test_rss_kib();
    refill();
    long peak = under_test_rss_kib();
    free_most();
    long after = under_test_rss_kib(), rss = after;
    for (long waited = 0; waited < idle_ms && rss > most_kib; waited += 100) {
        under_test_sleep_ms(100);
        rss = under_test_rss_kib();
    }
    printf("RSS in KiB: floor %ld, peak %ld, after the frees %ld, idle %ld\n", floor, peak, after, rss);
    CHECK_EQUAL(count_broken(), 0);
    CHECK(rss <= most_kib);
    refill();
    CHECK_EQUAL(count_broken(), 0);
    CHECK(under_test_rss_kib() <= peak + peak / 10);
}
