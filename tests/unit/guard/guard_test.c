/* SPDX-License-Identifier: MIT */
/* guard: each kind of misuse of a guarded object is named, and the rate holds whatever the program does. */
#include "guarded.h"

#include "alloc/flags.h"

/* "<hew>: SIGSEGV(0x...): WHAT SIZE-byte object at 0x..." */
static bool
reported(const void *address, const char *what, size_t size, const void *object)
{
    char line[256];
    snprintf(line, sizeof line, "<hew>: SIGSEGV(%p): %s%zu-byte object at %p\n  touched by thread %d:\n    #0 0x",
             address, what, size, object, (int)gettid());
    bool right = strncmp(guarded_report, line, strlen(line)) == 0;
    if (!right) {
        printf("reported %s\nexpected %s\n", guarded_report, line);
    }
    return right;
}

static bool
has_stacks(bool freed)
{
    return strstr(guarded_report, "\n  allocated by thread ") != NULL &&
           (strstr(guarded_report, "\n  freed by thread ") != NULL) == freed;
}

static char *
freed(size_t size, bool high)
{
    char *object = guarded_take(size, high);
    memset(object, 1, size);
    layers_free(object);
    return object;
}

TEST(a_use_after_free_is_named_with_both_stacks)
{
    guarded_begin();
    char *high = freed(100, true), *low = freed(100, false);
    CHECK(guarded_faults_at(high + 8, false));
    CHECK(reported(high + 8, "use after free: read at byte 8 of the ", 100, high) && has_stacks(true));
    CHECK(guarded_faults_at(low, true));
    CHECK(reported(low, "use after free: write at byte 0 of the ", 100, low) && has_stacks(true));
    CHECK_EQUAL(hew_guard_counts().found[HEW_GUARD_USE_AFTER_FREE], 2);
}

TEST(a_byte_beyond_the_pages_is_named)
{
    guarded_begin();
    char *high = guarded_take(64, true), *low = guarded_take(64, false);
    memset(high, 1, 64);
    CHECK(guarded_faults_at(high + 64, true));
    CHECK(reported(high + 64, "overflow: write 0 bytes behind the ", 64, high) && has_stacks(false));
    CHECK(guarded_faults_at(low - 1, false));
    CHECK(reported(low - 1, "underflow: read 1 byte before the ", 64, low) && has_stacks(false));
    layers_free(high);
    layers_free(low);
}

TEST(a_bug_is_reported_once_and_counted_each_time)
{
    guarded_begin();
    char *object = guarded_take(64, true);
    uint64_t found = hew_guard_counts().found[HEW_GUARD_OVERFLOW], lines = 0;
    for (unsigned i = 0; i < 5; i++) {
        CHECK(guarded_faults_at(object + 64, false));
        lines += guarded_report[0] != '\0';
    }
    CHECK_EQUAL(lines, 1);
    CHECK_EQUAL(hew_guard_counts().found[HEW_GUARD_OVERFLOW], found + 5);
    layers_free(object);
}

static bool
heard(const char *words)
{
    bool right = guarded_misuses == 1 && strstr(guarded_last, words) != NULL;
    guarded_misuses = 0;
    return right;
}

TEST(a_write_beside_an_object_is_found_when_it_is_freed)
{
    guarded_begin();
    char *object = guarded_take(60, true);
    object[60] = 1; /* the class has 64 bytes */
    layers_free(object);
    CHECK(heard("written beyond its end: the 60-byte object at 0x"));
    object = guarded_take(50, false);
    object[1000] = 1;
    layers_free(object);
    CHECK(heard("written beyond its end: the 50-byte object at 0x"));
    object = guarded_take(40, true);
    object[-1] = 1;
    layers_free(object);
    CHECK(heard("written before its beginning: the 40-byte object at 0x"));
}

TEST(bad_frees_and_queries_are_named)
{
    guarded_begin();
    char *object = guarded_take(100, true);
    layers_free(object + 16);
    CHECK(heard("points inside an allocation: inside the 100-byte object at 0x"));
    layers_free(object - 5000);
    CHECK(heard("not memory that hew gave out: beside the 100-byte object at 0x"));
    layers_free(object);
    layers_free(object);
    CHECK(heard("double free: the 100-byte object at 0x"));
    CHECK(strstr(guarded_last, " is free already") != NULL);
    CHECK_EQUAL(hew_alloc_usable("malloc_usable_size", object), 0);
    CHECK(heard("malloc_usable_size(0x") || strstr(guarded_last, "not a live allocation") != NULL);
}

TEST(a_guarded_object_is_as_any_other)
{
    guarded_begin();
    for (size_t size = 8; size <= HEW_SMALL_MAX; size += size / 2) {
        char *object = guarded_take(size, size % 2 == 0);
        CHECK(hew_alloc_is_sized("free_sized", object, size, 0));
        memset(object, 0x22, size);
        char *larger = hew_realloc_object(object, size + 3000);
        CHECK(larger != NULL && !guarded_is(larger) && larger[0] == 0x22 && larger[size - 1] == 0x22);
        layers_free(larger);
        object = guarded_take(size, true);
        memset(object, 0x33,
               hew_alloc_usable("malloc_usable_size", object)); /* the program may use what it asked about */
        layers_free(object);
        object = guarded_take(size, true);
        CHECK(hew_realloc_object(object, size) == object);
        CHECK_EQUAL(hew_flags_resize(object, size, 0, 0), hew_alloc_usable("xallocx", object));
        hew_flags_free("dallocx", object, 1 << 8); /* past the thread's cache */
    }
    CHECK_EQUAL(guarded_misuses, 0);
}

TEST(zeroed_and_aligned_objects_are_so_when_guarded)
{
    guarded_begin();
    static const char zeros[3000];
    unsigned seen = 0;
    for (unsigned i = 0; i < 4000000 && seen < 200; i++) {
        size_t alignment = (size_t)16 << i % 9;
        char *object = hew_alloc_aligned(3000, alignment, true);
        CHECK_EQUAL((uintptr_t)object % alignment, 0);
        if (guarded_is(object)) {
            seen++;
            CHECK(memcmp(object, zeros, sizeof zeros) == 0);
            memset(object, 1, 3000);
        }
        layers_free(object);
        if (i % 1000 == 0) {
            guarded_wait();
        }
    }
    CHECK_EQUAL(seen, 200);
    CHECK_EQUAL(guarded_misuses, 0);
}

/* Allocates in each quarter of `seconds` what a program at that speed does.  Returns how many objects were guarded. */
static uint64_t
work_for(unsigned seconds, unsigned a_quarter)
{
    uint64_t before = hew_guard_counts().guarded;
    for (unsigned quarter = 0; quarter < 4 * seconds; quarter++) {
        for (unsigned i = 0; i < a_quarter; i++) {
            layers_free(layers_malloc(16 + i % 20 * 16));
        }
        guarded_wait();
    }
    return hew_guard_counts().guarded - before;
}

TEST(so_many_objects_a_second_are_guarded_at_any_speed)
{
    guarded_begin();
    static const unsigned speeds[] = {1000000, 1000, 30000, 300};
    for (unsigned i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        work_for(100000 / speeds[i] + 4, speeds[i]); /* finds the interval */
        uint64_t guarded = work_for(20, speeds[i]);
        CHECK(guarded <= 21 * 100);
        CHECK(guarded >= (speeds[i] < 1000 ? 20 * 20 : 20 * 40));
    }
    hew_guard_set_rate(5);
    uint64_t few = work_for(20, 30000);
    CHECK(few <= 210 && few >= 40);
    hew_guard_set_rate(0);
    CHECK_EQUAL(work_for(2, 100000), 0);
    hew_guard_set_rate(100);
}

TEST(an_idle_program_is_left_alone)
{
    guarded_begin();
    work_for(5, 30000);
    unsigned rounds = 0;
    while (guarded_wait() != 0) {
        CHECK(++rounds < 100);
    }
    CHECK_EQUAL(guarded_wait(), 0);
}

/* One request: ten objects; once in 10,000 it reads what it has freed. */
static bool
request_meets_the_bug(unsigned number)
{
    char *parts[10];
    bool met = false;
    for (unsigned i = 0; i < 10; i++) {
        parts[i] = layers_malloc(32 + (number + i) % 8 * 48);
    }
    if (number % 10000 == 9999) {
        char *session = layers_malloc(200);
        layers_free(session);
        met = guarded_faults_at(session + 24, false) &&
              strstr(guarded_report, "use after free: read at byte 24 of") != NULL;
    }
    for (unsigned i = 0; i < 10; i++) {
        layers_free(parts[i]);
    }
    return met;
}

/* The hour is played where nothing slows it down. */
#define PLAYED_SECONDS (HEW_CHECK_LEVEL == 0 ? 3600 : 1200)

TEST(an_hour_of_requests_names_a_bug_that_one_in_10000_has)
{
    guarded_begin();
    unsigned named = 0;
    uint64_t before = hew_guard_counts().found[HEW_GUARD_USE_AFTER_FREE];
    for (unsigned number = 0; number < PLAYED_SECONDS * 500; number++) {
        named += request_meets_the_bug(number);
        if (number % 125 == 0) {
            guarded_wait();
        }
    }
    uint64_t found = hew_guard_counts().found[HEW_GUARD_USE_AFTER_FREE] - before;
    printf("# met %llu of %u times\n", (unsigned long long)found, PLAYED_SECONDS / 20);
    CHECK_EQUAL(named, 1); /* one report for all */
    CHECK(found >= 2);
}
