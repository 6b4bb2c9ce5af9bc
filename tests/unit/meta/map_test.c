/* SPDX-License-Identifier: MIT */
/*
 * Unit tests of meta/map: codes and extents over the borders of windows, and the form for limited address space.
 * Both maps are the process's own, so each form is booted in a child of its own.  Addresses are only numbers here:
 * nothing needs to be mapped at them.
 */
#include "meta/map.h"

#include "meta/space.h"
#include "os/memory.h"
#include "os/process.h"
#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"
#include "fakes/mapping.h"

#include <pthread.h>
#include <sys/mman.h>

#define WINDOW ((uintptr_t)1 << HEW_LG_LEAF)
#define GIB ((size_t)1 << 30)

/* Some number that looks like an extent's address; the map never follows it. */
static struct hew_extent *
extent(uintptr_t number)
{
    return (struct hew_extent *)(number * 128);
}

static void
write_both_sides_of_a_border(uintptr_t border)
{
    CHECK(hew_map_cover(border - HEW_GRAIN, 2 * HEW_GRAIN));
    hew_map_set_code(border - 1, 61);
    hew_map_set_code(border, 7);
    hew_map_set_extent(border - 1, extent(1));
    hew_map_set_extent(border, extent(2));
    CHECK_EQUAL(hew_map_code(border - 1), 61);
    CHECK_EQUAL(hew_map_code(border - HEW_GRAIN), 61);
    CHECK_EQUAL(hew_map_code(border), 7);
    CHECK_EQUAL(hew_map_code(border + HEW_GRAIN - 1), 7);
    CHECK_EQUAL(hew_map_code(border + HEW_GRAIN), HEW_CODE_NONE);
    CHECK(hew_map_extent(border - HEW_PAGE) == extent(1));
    CHECK(hew_map_extent(border - HEW_PAGE - 1) == NULL);
    CHECK(hew_map_extent(border) == extent(2));
    CHECK(hew_map_extent(border + HEW_PAGE - 1) == extent(2));
    CHECK(hew_map_extent(border + HEW_PAGE) == NULL);
    struct hew_map_window window = HEW_MAP_NO_WINDOW; /* the same answers, however the addresses follow each other */
    const uintptr_t asked[] = {border, border - HEW_PAGE, UINTPTR_MAX, border + HEW_PAGE, 0, border - HEW_PAGE, border};
    for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        CHECK(hew_map_extent_near(&window, asked[i]) == hew_map_extent(asked[i]));
    }
    hew_map_set_code(border, HEW_CODE_NONE);
    hew_map_set_extent(border, NULL);
    CHECK_EQUAL(hew_map_code(border), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code(border - 1), 61);
    CHECK(hew_map_extent(border) == NULL);
    CHECK(hew_map_extent(border - 1) == extent(1));
}

static void
before_boot(void)
{
    CHECK_EQUAL(hew_map_code(0), HEW_CODE_NONE);
    CHECK(hew_map_extent(0) == NULL);
}

TEST(before_boot_the_null_pointer_is_nothing_of_ours)
{
    CHECK_EQUAL(child_run(before_boot).status, 0);
}

static void
uncovered_addresses(void)
{
    CHECK(hew_map_boot(true));
    for (unsigned bit = 0; bit < HEW_LG_ADDRESS; bit++) {
        CHECK_EQUAL(hew_map_code((uintptr_t)1 << bit), HEW_CODE_NONE);
        CHECK(hew_map_extent((uintptr_t)1 << bit) == NULL);
    }
    CHECK_EQUAL(hew_map_code(((uintptr_t)1 << HEW_LG_ADDRESS) - 1), HEW_CODE_NONE);
    volatile uintptr_t beyond = (uintptr_t)1 << HEW_LG_ADDRESS; /* no constant: gcc warns of code that is not reached */
    CHECK(hew_map_extent(beyond) == NULL);
    beyond = UINTPTR_MAX;
    CHECK(hew_map_extent(beyond) == NULL);
}

TEST(any_address_that_is_not_covered_is_nothing_of_ours)
{
    CHECK_EQUAL(child_run(uncovered_addresses).status, 0);
}

static void
map_in_a_dump(void)
{
    CHECK(hew_map_boot(true));
    CHECK(mapping_has_flag(hew_code_map, " dd"));
    char *ours = hew_space_open(HEW_PAGE);
    CHECK(ours != NULL && !mapping_has_flag(ours, " dd"));
}

TEST(the_large_map_is_left_out_of_core_dumps_and_our_own_data_is_not)
{
    CHECK_EQUAL(child_run(map_in_a_dump).status, 0);
}

static void
borders_of_windows(void)
{
    CHECK(hew_map_boot(true));
    write_both_sides_of_a_border(WINDOW);
    write_both_sides_of_a_border(0x7f0000000000);
    write_both_sides_of_a_border(0x7f0000000000 + 5 * WINDOW);
    write_both_sides_of_a_border(0x555500000000 + 64 * ((uintptr_t)1 << 20)); /* within one window */
}

TEST(codes_and_extents_are_apart_on_both_sides_of_a_border)
{
    CHECK_EQUAL(child_run(borders_of_windows).status, 0);
}

static void
large_ranges(void)
{
    uintptr_t start = 0x7e0000000000 + WINDOW / 2;
    CHECK(hew_map_boot(true));
    CHECK(hew_map_cover(start, 10 * GIB));
    for (uintptr_t address = start; address < start + 10 * GIB; address += GIB / 4) {
        hew_map_set_code(address, 63);
        hew_map_set_extent(address, extent(address >> 20));
    }
    for (uintptr_t address = start; address < start + 10 * GIB; address += GIB / 4) {
        CHECK_EQUAL(hew_map_code(address), 63);
        CHECK(hew_map_extent(address) == extent(address >> 20));
    }
    faults_count(NULL);
    CHECK(hew_map_cover(start + GIB, 9 * GIB)); /* is covered already */
    CHECK_EQUAL(faults_asked, 0);
    faults_end();
}

TEST(a_range_of_many_windows_is_covered_whole_and_once)
{
    CHECK_EQUAL(child_run(large_ranges).status, 0);
}

static void
last_addresses(void)
{
    uintptr_t end = (uintptr_t)1 << HEW_LG_ADDRESS;
    CHECK(hew_map_boot(true));
    CHECK(hew_map_cover(end - HEW_GRAIN, HEW_GRAIN));
    hew_map_set_code(end - 1, 3);
    CHECK_EQUAL(hew_map_code(end - HEW_GRAIN), 3);
    CHECK(!hew_map_cover(end, HEW_GRAIN));
    CHECK(!hew_map_cover(end - HEW_GRAIN, 2 * HEW_GRAIN));
    CHECK(!hew_map_cover((uintptr_t)1 << 60, HEW_GRAIN));
}

TEST(addresses_beyond_47_bits_cannot_be_covered)
{
    CHECK_EQUAL(child_run(last_addresses).status, 0);
}

static void
refused_calls(void)
{
    CHECK(hew_map_boot(true));
    for (int i = 0; i < 2; i++) { /* the leaf, the codes */
        uintptr_t address = 0x7d0000000000 + (uintptr_t)i * WINDOW;
        faults_refuse("mprotect", i, 1);
        CHECK(!hew_map_cover(address, HEW_GRAIN));
        faults_end();
        CHECK_EQUAL(faults_refused, 1);
        CHECK_EQUAL(hew_map_code(address), HEW_CODE_NONE);
        CHECK(hew_map_extent(address) == NULL);
        faults_count("mprotect");
        CHECK(hew_map_cover(address, HEW_GRAIN));
        faults_end();
        CHECK_EQUAL(faults_asked, 2 - i); /* the leaf waits for its window */
        hew_map_set_code(address, 5);
        hew_map_set_extent(address, extent(5));
        CHECK(hew_map_code(address) == 5 && hew_map_extent(address) == extent(5));
    }
}

TEST(a_refused_window_stays_closed_and_opens_at_the_next_try)
{
    CHECK_EQUAL(child_run(refused_calls).status, 0);
}

static void *
cover_all(void *unused)
{
    for (uintptr_t window = 0; window < 200; window++) {
        uintptr_t address = 0x7c0000000000 + window * WINDOW;
        if (!hew_map_cover(address, HEW_GRAIN)) {
            return &hew_map_lock;
        }
        hew_map_set_code(address, 9);
    }
    return unused;
}

static void
many_threads_cover(void)
{
    pthread_t threads[4];
    CHECK(hew_map_boot(true));
    for (unsigned i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, cover_all, NULL);
    }
    for (unsigned i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        CHECK(failed == NULL);
    }
    for (uintptr_t window = 0; window < 200; window++) {
        CHECK_EQUAL(hew_map_code(0x7c0000000000 + window * WINDOW), 9);
    }
}

TEST(threads_that_cover_the_same_windows_agree)
{
    CHECK_EQUAL(child_run(many_threads_cover).status, 0);
}

static void
limited_space(void)
{
    static const char here[] = "a foreign pointer";
    const struct rlimit limit = {GIB / 2, GIB / 2};
    char stack;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(hew_map_boot(true));
    CHECK_EQUAL(hew_map_code((uintptr_t)&stack), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code((uintptr_t)here), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code(hew_os_program_address()), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code(0), HEW_CODE_NONE);
    char *memory = hew_os_map(HEW_PAGE, HEW_GRAIN);
    CHECK(hew_map_cover((uintptr_t)memory, HEW_GRAIN));
    hew_map_set_code((uintptr_t)memory, 12);
    hew_map_set_extent((uintptr_t)memory, extent(12));
    CHECK_EQUAL(hew_map_code((uintptr_t)memory), 12);
    CHECK(hew_map_extent((uintptr_t)memory) == extent(12));
    CHECK(hew_map_cover(0x400000, HEW_GRAIN)); /* the window of NULL, whose first page is open since boot */
    hew_map_set_code(0x400000, 13);
    hew_map_set_code(0x3fffc000, 14); /* the last grain of that window */
    CHECK(hew_map_code(0x400000) == 13 && hew_map_code(0x3fffc000) == 14);
    write_both_sides_of_a_border(0x7f0000000000);
}

TEST(with_limited_address_space_the_map_opens_piece_by_piece)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(limited_space).status, 0);
}

static void
without_reservation(void)
{
    size_t before = mapping_all();
    CHECK(hew_map_boot(false));
    write_both_sides_of_a_border(0x7f0000000000);
    char *ours = hew_space_open(HEW_PAGE);
    CHECK(ours != NULL);
    CHECK(mapping_all() - before < GIB / 32); /* two windows, each with a leaf */
    CHECK(!hew_map_narrow(2 * GIB));          /* there is nothing to give */
}

TEST(without_a_reservation_each_window_takes_its_own_address_space)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(without_reservation).status, 0);
}

static void
space_becomes_limited(void)
{
    struct rlimit limit = {2 * GIB, 2 * GIB};
    CHECK(hew_map_boot(true));
    CHECK(!hew_map_narrow(hew_os_address_space_limit())); /* no limit */
    CHECK(hew_map_cover(0x100000000000, HEW_GRAIN));
    hew_map_set_code(0x100000000000, 5);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(hew_os_map(GIB, HEW_PAGE) == NULL);
    CHECK(hew_map_narrow(hew_os_address_space_limit()));
    CHECK(!hew_map_narrow(hew_os_address_space_limit())); /* once is all there is */
    char *memory = hew_os_map(GIB, HEW_PAGE);
    CHECK(memory != NULL && hew_map_cover((uintptr_t)memory, GIB));
    hew_map_set_code((uintptr_t)memory, 6);
    CHECK_EQUAL(hew_map_code((uintptr_t)memory), 6);
    CHECK_EQUAL(hew_map_code(0x100000000000), 5);
    CHECK_EQUAL(hew_map_code(0x100000000000 - 1), HEW_CODE_NONE); /* the guards of an open window stay */
    CHECK_EQUAL(hew_map_code(0x100000000000 + WINDOW), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code(0), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code((uintptr_t)&limit), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code((uintptr_t)&hew_map_lock), HEW_CODE_NONE);
    write_both_sides_of_a_border(0x300000000000); /* far from all: as with the small form */
}

TEST(when_address_space_becomes_limited_the_map_makes_room)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(space_becomes_limited).status, 0);
}

static void
pieces_stay(void)
{
    CHECK(hew_map_boot(true));
    CHECK(hew_map_cover(0x100000000000, HEW_GRAIN));
    faults_refuse("munmap", 1, 2);
    CHECK(hew_map_narrow(2 * GIB));
    faults_end();
    for (uintptr_t address = 0x010000000000; address < 0x7f0000000000; address += 0x010000000000) {
        CHECK(hew_map_cover(address, HEW_GRAIN)); /* whether its part has gone or not */
        hew_map_set_code(address, 9);
        CHECK_EQUAL(hew_map_code(address), 9);
    }
}

TEST(a_part_that_the_system_does_not_take_back_is_used_again)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(pieces_stay).status, 0);
}

/* Ends at the first byte before, or behind, what the map has. */
static uint8_t *beside;

static void
write_beside(void)
{
    *(volatile uint8_t *)beside = 1;
}

static void
ends_of_the_map(void)
{
    uintptr_t last = ((uintptr_t)1 << HEW_LG_ADDRESS) - HEW_GRAIN;
    CHECK(hew_map_boot(true));
    CHECK(hew_map_cover(0, HEW_GRAIN) && hew_map_cover(last, HEW_GRAIN));
    beside = hew_code_map - 1;
    CHECK(child_run(write_beside).status != 0);
    beside = &hew_code_map[last >> HEW_LG_GRAIN] + 1;
    CHECK(child_run(write_beside).status != 0);
    CHECK(hew_map_cover(0x7d0000000000, HEW_GRAIN)); /* and on both sides of a window that stands alone */
    beside = &hew_code_map[0x7d0000000000 >> HEW_LG_GRAIN] - 1;
    CHECK(child_run(write_beside).status != 0);
    beside += WINDOW / HEW_GRAIN + 1;
    CHECK(child_run(write_beside).status != 0);
}

TEST(nobody_can_write_beside_an_open_window)
{
    CHECK_EQUAL(child_run(ends_of_the_map).status, 0);
}

static size_t
resident_tables(void)
{
    char line[256];
    size_t kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL) {
        sscanf(line, "VmPTE: %zu", &kib);
    }
    fclose(status);
    return kib;
}

static void
locked(void)
{
    static const char here[] = "a foreign pointer";
    CHECK(hew_map_boot(true));
    CHECK(hew_map_cover(0x100000000000, HEW_GRAIN));
    hew_map_set_code(0x100000000000, 5);
    hew_map_close();
    size_t before = resident_tables();
    if (mlockall(MCL_CURRENT) == 0) { /* only where the limit of locked memory allows for all that is reserved */
        CHECK(resident_tables() - before < 1024);
        munlockall();
    }
    CHECK_EQUAL(hew_map_code(0x100000000000), 5);
    CHECK_EQUAL(hew_map_code(0), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code((uintptr_t)here), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code((uintptr_t)&before), HEW_CODE_NONE);
    CHECK_EQUAL(hew_map_code(hew_os_program_address()), HEW_CODE_NONE);
    write_both_sides_of_a_border(0x300000000000); /* far from all, and opened afterwards */
    hew_map_close();                              /* as often as one likes */
    CHECK_EQUAL(hew_map_code(0x300000000000 - 1), 61);
}

TEST(a_closed_map_costs_locked_memory_next_to_nothing_and_works)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(locked).status, 0);
}

static void
refused_space(void)
{
    faults_refuse("mmap", 0, 1); /* the large form; the small one then finds its place */
    CHECK(hew_map_boot(true));
    faults_end();
    write_both_sides_of_a_border(0x7f0000000000);
}

TEST(when_the_large_map_is_refused_the_small_one_takes_over)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(refused_space).status, 0);
}

static void
place_is_taken(void)
{
    faults_refuse("mmap", 0, 3); /* the large form and the first two places of the small one */
    CHECK(hew_map_boot(true));
    faults_end();
    write_both_sides_of_a_border(0x7f0000000000);
}

TEST(a_place_that_is_taken_leads_to_the_next_one)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(place_is_taken).status, 0);
}

static void
no_memory_at_all(void)
{
    faults_refuse("mmap", 0, FAULTS_ALL);
    CHECK(!hew_map_boot(true));
    faults_end();
}

TEST(without_any_memory_boot_says_so)
{
    CHECK_EQUAL(child_run(no_memory_at_all).status, 0);
}

TEST(what_the_maps_take_grows_with_what_is_mapped)
{
    size_t none = hew_map_bytes(0), mapped = (size_t)1 << 30;
    CHECK_EQUAL(none % (2 * HEW_PAGE), 0);
    CHECK_EQUAL(hew_map_bytes(mapped) - none, mapped / HEW_PAGE * sizeof(void *) + mapped / HEW_GRAIN);
}
