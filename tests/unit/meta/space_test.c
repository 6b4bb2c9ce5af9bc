/* SPDX-License-Identifier: MIT */
/*
 * Unit tests of meta/space: what is around the parts of the reservation that are opened, and a system that has little room.
 * Each in a child of its own: there is one space in a process.
 */
#include "meta/space.h"

#include "base/size_class.h"
#include "os/memory.h"
#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* What /proc/self/maps says of the mapping that holds an address. */
struct mapping {
    uintptr_t start, end;
    char rights[8];
};

static struct mapping
mapping_of(const void *address)
{
    struct mapping found = {0}, one;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &one.start, &one.end, one.rights) == 3 && (uintptr_t)address >= one.start &&
            (uintptr_t)address < one.end) {
            found = one;
        }
    }
    fclose(maps);
    return found;
}

static bool
is_guard(uintptr_t address)
{
    return strcmp(mapping_of((void *)address).rights, "---p") == 0;
}

static void
check_guarded(const void *opened)
{
    struct mapping at = mapping_of(opened);
    CHECK(strcmp(at.rights, "rw-p") == 0);
    CHECK(is_guard(at.start - 1) && is_guard(at.start - HEW_SPACE_GUARD));
    CHECK(is_guard(at.end) && is_guard(at.end + HEW_SPACE_GUARD - 1));
}

static void
opens_between_guards(void)
{
    char *first = hew_space_open(2 * MIB);
    CHECK(first != NULL && first[0] == 0 && first[2 * MIB - 1] == 0);
    check_guarded(first);
    char *second = hew_space_open(HEW_PAGE);
    CHECK(second == first + 2 * MIB); /* side by side: one mapping */
    check_guarded(second);
    for (unsigned i = 0; i < 1100; i++) { /* more than one reservation holds */
        char *more = hew_space_open(MIB);
        CHECK(more != NULL);
        more[0] = more[MIB - 1] = 1;
        if (i % 100 == 0) {
            check_guarded(more);
        }
    }
    check_guarded(first);
}

TEST(what_is_opened_has_guards_on_both_sides)
{
    CHECK_EQUAL(child_run(opens_between_guards).status, 0);
}

static char *behind;

static void
write_on(void)
{
    for (char *at = behind;; at++) {
        *(volatile char *)at = 1;
    }
}

/* Nothing of a program's own comes between its object and the guard in which it ends. */
static void
overflow_ends(void)
{
    char *ours = hew_space_open(MIB), *program = hew_os_map(MIB, HEW_PAGE);
    memset(ours, 7, MIB);
    behind = program + MIB;
    int status = child_run(write_on).status;
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    behind = ours + MIB; /* and from our own data nothing reaches the program's */
    status = child_run(write_on).status;
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(a_write_that_goes_on_meets_a_guard)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(overflow_ends).status, 0);
}

TEST(distances_are_whole_pages_and_no_more_than_asked)
{
    size_t most = 0, different = 0, last = SIZE_MAX;
    for (unsigned i = 0; i < 1000; i++) {
        size_t drawn = hew_space_draw(64 * HEW_PAGE);
        CHECK(drawn % HEW_PAGE == 0 && drawn <= 64 * HEW_PAGE);
        most = drawn > most ? drawn : most;
        different += drawn != last;
        last = drawn;
    }
    CHECK(most > 32 * HEW_PAGE && different > 500);
    CHECK_EQUAL(hew_space_draw(0), 0);
    CHECK_EQUAL(hew_space_draw(HEW_PAGE - 1), 0);
}

static void
refused_reservations(void)
{
    faults_refuse("mmap", 0, 8); /* 1 GiB, 512 MiB, ... 8 MiB */
    char *opened = hew_space_open(2 * MIB);
    CHECK_EQUAL(faults_asked, 9);
    faults_end();
    CHECK(opened != NULL);
    check_guarded(opened);
    CHECK(hew_space_open(GIB) != NULL); /* more than the usual reservation */
    faults_refuse(NULL, 0, FAULTS_ALL);
    CHECK(hew_space_open(GIB) == NULL);
    faults_end();
    faults_refuse("mprotect", 0, 1);
    CHECK(hew_space_open(HEW_PAGE) == NULL);
    faults_end();
    CHECK(hew_space_open(HEW_PAGE) != NULL);
}

TEST(a_smaller_reservation_will_do_down_to_what_is_needed)
{
    CHECK_EQUAL(child_run(refused_reservations).status, 0);
}

static void
narrow_leaves_guards(void)
{
    char *opened = hew_space_open(MIB);
    struct mapping above = mapping_of(opened + MIB);
    CHECK(above.end - above.start > GIB / 2);
    faults_refuse("munmap", 0, 1);
    hew_space_narrow(); /* refused: all is as it was */
    faults_end();
    CHECK_EQUAL(mapping_of(opened + MIB).end, above.end);
    hew_space_narrow();
    CHECK(hew_os_map_at(opened + MIB + HEW_SPACE_GUARD, HEW_PAGE)); /* nothing is there */
    hew_os_unmap(opened + MIB + HEW_SPACE_GUARD, HEW_PAGE);
    check_guarded(opened);
    char *next = hew_space_open(MIB);
    CHECK(next != NULL && next != opened + MIB);
    check_guarded(next);
}

TEST(address_space_that_became_scarce_is_given_back_but_for_the_guards)
{
    CHECK_EQUAL(child_run(narrow_leaves_guards).status, 0);
}

/* Its first part could not be made writable. */
static void
unopened_goes_back(void)
{
    faults_refuse("mprotect", 0, 1);
    CHECK(hew_space_open(HEW_PAGE) == NULL);
    faults_end();
    hew_space_narrow();
    char *opened = hew_space_open(HEW_PAGE);
    CHECK(opened != NULL);
    opened[0] = 1;
    check_guarded(opened);
}

TEST(a_reservation_of_which_nothing_is_open_goes_back_whole_and_another_one_serves)
{
    CHECK_EQUAL(child_run(unopened_goes_back).status, 0);
}

/* A limit that is no whole number of pages, nor is its share. */
static void
reserves_a_share(void)
{
    struct rlimit limit = {4 * GIB + 64, 4 * GIB + 64};
    CHECK_EQUAL(setrlimit(RLIMIT_AS, &limit), 0);
    char *opened = hew_space_open(HEW_PAGE);
    CHECK(opened != NULL);
    struct mapping below = mapping_of(mapping_of(opened).start == 0 ? NULL : (char *)mapping_of(opened).start - 1);
    CHECK_EQUAL(mapping_of(opened + HEW_PAGE).end - below.start, 64 * MIB);
}

TEST(of_a_limited_address_space_a_small_share_in_whole_pages_is_reserved)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(reserves_a_share).status, 0);
}

static void
room(void)
{
    CHECK(!hew_space_has_room(HEW_PAGE)); /* nothing is reserved */
    CHECK(hew_space_open(HEW_PAGE) != NULL);
    CHECK(hew_space_has_room(HEW_PAGE));
    CHECK(!hew_space_has_room(64 * GIB));
}

TEST(there_is_room_in_what_was_reserved_and_nowhere_else)
{
    CHECK_EQUAL(child_run(room).status, 0);
}
