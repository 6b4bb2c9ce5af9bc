/* SPDX-License-Identifier: MIT */
/* Unit tests of os/memory: what each call does to pages, and that a refusal changes nothing. */
#include "os/memory.h"

#include "base/size_class.h"
#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"
#include "fakes/filter.h"
#include "fakes/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MIB ((size_t)1 << 20)

static bool
is_filled(const char *memory, size_t size, char with)
{
    for (size_t i = 0; i < size; i++) {
        if (memory[i] != with) {
            return false;
        }
    }
    return true;
}

/* Pages of address space that this process holds. */
static long
pages_held(void)
{
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
    close(file);
    return strtol(text, NULL, 10);
}

TEST(new_pages_are_zero_and_writable)
{
    char *memory = hew_os_map(3 * HEW_PAGE, HEW_PAGE);
    CHECK(memory != NULL);
    CHECK(is_filled(memory, 3 * HEW_PAGE, 0));
    memset(memory, 1, 3 * HEW_PAGE);
    hew_os_unmap(memory, 3 * HEW_PAGE);
}

TEST(pages_are_aligned_as_asked_and_nothing_else_stays_mapped)
{
    long before = pages_held();
    for (size_t alignment = HEW_PAGE; alignment <= 64 * MIB; alignment *= 2) {
        for (size_t size = HEW_PAGE; size <= 8 * MIB; size *= 8) {
            char *memory = hew_os_map(size, alignment);
            CHECK(memory != NULL && (uintptr_t)memory % alignment == 0);
            CHECK_EQUAL(pages_held() - before, size / HEW_PAGE);
            memory[0] = memory[size - 1] = 1;
            hew_os_unmap(memory, size);
            CHECK_EQUAL(pages_held(), before);
        }
    }
}

TEST(what_no_address_space_can_hold_is_refused_and_errno_is_kept)
{
    errno = 7;
    CHECK(hew_os_map((size_t)1 << 50, HEW_PAGE) == NULL);
    CHECK(hew_os_map((size_t)1 << 50, MIB) == NULL);
    CHECK(hew_os_map(SIZE_MAX - HEW_PAGE + 1, MIB) == NULL); /* size + alignment wraps */
    CHECK(hew_os_reserve((size_t)1 << 50) == NULL);
    CHECK_EQUAL(errno, 7);
}

TEST(a_refused_call_says_so_and_changes_nothing)
{
    char *memory = hew_os_map(2 * HEW_PAGE, HEW_PAGE);
    memset(memory, 5, 2 * HEW_PAGE);
    errno = 7;
    faults_refuse(NULL, 0, FAULTS_ALL);
    CHECK(hew_os_map(HEW_PAGE, HEW_PAGE) == NULL);
    CHECK(hew_os_map(HEW_PAGE, MIB) == NULL);
    CHECK(hew_os_reserve(HEW_PAGE) == NULL);
    CHECK(!hew_os_make_readable(memory, HEW_PAGE));
    CHECK(!hew_os_make_writable(memory, HEW_PAGE));
    CHECK(!hew_os_guard(memory, HEW_PAGE));
    CHECK(!hew_os_try_unmap(memory, HEW_PAGE));
    CHECK(!hew_os_map_at(memory + HEW_PAGE, HEW_PAGE));
    CHECK(!hew_os_purge(memory, HEW_PAGE));
    CHECK(!hew_os_purge_lazily(memory, HEW_PAGE));
    CHECK(hew_os_move(memory, memory + HEW_PAGE, HEW_PAGE) == HEW_OS_NOT_MOVED);
    CHECK(hew_os_extend_data(HEW_PAGE, HEW_PAGE) == NULL);
    CHECK_EQUAL(faults_refused, 12);
    faults_end();
    CHECK_EQUAL(errno, 7);
    CHECK(is_filled(memory, 2 * HEW_PAGE, 5));
    hew_os_unmap(memory, 2 * HEW_PAGE);
}

TEST(a_fault_is_asked_for_by_the_name_of_its_call)
{
    char *memory = hew_os_map(2 * HEW_PAGE, HEW_PAGE);
    static const char *const calls[] = {"mmap", "mprotect", "madvise", "mremap", "brk"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        faults_count(calls[i]);
        void *mapped = hew_os_map(HEW_PAGE, HEW_PAGE);
        hew_os_make_writable(memory, HEW_PAGE);
        hew_os_purge(memory, HEW_PAGE);
        hew_os_move(memory, memory + HEW_PAGE, HEW_PAGE);
        hew_os_extend_data(HEW_PAGE, HEW_PAGE);
        faults_end();
        /* A move maps the old range anew. */
        CHECK_EQUAL(faults_asked, strcmp(calls[i], "mmap") == 0 ? 2 : 1);
        hew_os_unmap(mapped, HEW_PAGE);
    }
    hew_os_unmap(memory, 2 * HEW_PAGE);
}

TEST(reserved_space_reads_as_zeros_where_it_is_opened_and_opens_in_parts)
{
    char *space = hew_os_reserve(1024 * MIB);
    CHECK(space != NULL && hew_os_make_readable(space, 1024 * MIB));
    CHECK(space[0] == 0 && space[1024 * MIB - 1] == 0);
    CHECK(hew_os_make_writable(space + 512 * MIB, HEW_PAGE));
    space[512 * MIB] = 1;
    CHECK(space[512 * MIB] == 1 && space[512 * MIB + HEW_PAGE] == 0);
    hew_os_try_unmap(space, 1024 * MIB);
}

static char *closed_page;

static void
write_to_closed_page(void)
{
    *(volatile char *)closed_page = 1;
}

static void
read_closed_page(void)
{
    (void)*(volatile char *)closed_page;
}

TEST(reserved_space_that_is_not_opened_can_be_neither_read_nor_written)
{
    closed_page = hew_os_reserve(HEW_PAGE);
    CHECK(child_run(read_closed_page).status != 0);
    CHECK(hew_os_make_readable(closed_page, HEW_PAGE));
    CHECK_EQUAL(child_run(read_closed_page).status, 0);
    CHECK(child_run(write_to_closed_page).status != 0);
    hew_os_try_unmap(closed_page, HEW_PAGE);
}

TEST(address_space_that_the_system_does_not_take_back_is_as_it_was)
{
    char *memory = hew_os_map(2 * HEW_PAGE, HEW_PAGE);
    memset(memory, 5, 2 * HEW_PAGE);
    faults_refuse("munmap", 0, 1);
    CHECK(!hew_os_try_unmap(memory, 2 * HEW_PAGE));
    faults_end();
    CHECK(is_filled(memory, 2 * HEW_PAGE, 5));
    CHECK(hew_os_try_unmap(memory, 2 * HEW_PAGE));
}

TEST(what_nobody_could_keep_is_mapped_again_as_new_in_parts_as_well)
{
    char *memory = hew_os_map(64 * HEW_PAGE, HEW_PAGE);
    memset(memory, 5, 64 * HEW_PAGE);
    faults_refuse("munmap", 0, 1);
    hew_os_unmap(memory, 64 * HEW_PAGE);
    faults_count("mmap");
    size_t got = 0;
    char *first = NULL;
    for (unsigned i = 0; i < 16; i++) { /* aligned, out of the middle */
        char *part = hew_os_map(2 * HEW_PAGE, 4 * HEW_PAGE);
        CHECK(part != NULL && (uintptr_t)part % (4 * HEW_PAGE) == 0);
        CHECK(is_filled(part, 2 * HEW_PAGE, 0));
        memset(part, 6, 2 * HEW_PAGE);
        got += part >= memory && part < memory + 64 * HEW_PAGE;
        first = first == NULL ? part : first;
    }
    CHECK(got >= 15); /* of a range that need not begin at a multiple of four pages */
    faults_end();
    CHECK(is_filled(first, 2 * HEW_PAGE, 6));
}

TEST(what_was_kept_with_its_contents_is_zero_all_the_same)
{
    char *memory = hew_os_map(MIB, HEW_PAGE);
    memset(memory, 5, MIB);
    faults_refuse(NULL, 0, 2); /* munmap and madvise, as for locked memory at the limit of mappings */
    hew_os_unmap(memory, MIB);
    faults_refuse("madvise", 0, FAULTS_ALL);
    char *again = hew_os_map(MIB, HEW_PAGE);
    faults_end();
    CHECK(again == memory && is_filled(again, MIB, 0));
    hew_os_unmap(again, MIB);
}

TEST(what_nobody_could_keep_is_offered_again_after_something_else_went)
{
    char *first = hew_os_map(MIB, HEW_PAGE), *second = hew_os_map(MIB, HEW_PAGE), *third = hew_os_map(MIB, HEW_PAGE);
    faults_refuse("munmap", 0, 2);
    hew_os_unmap(first, MIB);
    hew_os_unmap(second, MIB);
    faults_count("munmap");
    hew_os_unmap(third, MIB);
    CHECK(faults_asked >= 3); /* the parts that another test left may come as well */
    faults_end();
    CHECK(hew_os_map_at(first, MIB) && hew_os_map_at(second, MIB)); /* nothing is there */
    hew_os_unmap(first, MIB);
    hew_os_unmap(second, MIB);
}

TEST(a_place_is_mapped_only_when_nothing_is_there)
{
    char *memory = hew_os_map(4 * HEW_PAGE, HEW_PAGE);
    memset(memory, 5, 4 * HEW_PAGE);
    hew_os_unmap(memory + HEW_PAGE, 2 * HEW_PAGE);
    CHECK(!hew_os_map_at(memory, HEW_PAGE));
    CHECK(!hew_os_map_at(memory + HEW_PAGE, 3 * HEW_PAGE)); /* its last page is taken */
    CHECK(hew_os_map_at(memory + HEW_PAGE, 2 * HEW_PAGE));
    CHECK(is_filled(memory, HEW_PAGE, 5));
    CHECK(is_filled(memory + HEW_PAGE, 2 * HEW_PAGE, 0));
    CHECK(is_filled(memory + 3 * HEW_PAGE, HEW_PAGE, 5));
    hew_os_unmap(memory, 4 * HEW_PAGE);
}

TEST(purged_pages_read_as_zeros_and_their_neighbours_do_not)
{
    char *memory = hew_os_map(3 * HEW_PAGE, HEW_PAGE);
    memset(memory, 5, 3 * HEW_PAGE);
    CHECK(hew_os_purge(memory + HEW_PAGE, HEW_PAGE));
    CHECK(is_filled(memory, HEW_PAGE, 5));
    CHECK(is_filled(memory + HEW_PAGE, HEW_PAGE, 0));
    CHECK(is_filled(memory + 2 * HEW_PAGE, HEW_PAGE, 5));
    hew_os_unmap(memory, 3 * HEW_PAGE);
}

TEST(lazily_purged_pages_hold_what_is_written_afterwards)
{
    char *memory = hew_os_map(2 * HEW_PAGE, HEW_PAGE);
    memset(memory, 5, 2 * HEW_PAGE);
    CHECK(hew_os_purge_lazily(memory, 2 * HEW_PAGE));
    CHECK(is_filled(memory, HEW_PAGE, 5) || is_filled(memory, HEW_PAGE, 0));
    memset(memory, 6, HEW_PAGE);
    CHECK(is_filled(memory, HEW_PAGE, 6));
    hew_os_unmap(memory, 2 * HEW_PAGE);
}

TEST(purging_what_is_not_mapped_is_refused)
{
    char *memory = hew_os_map(HEW_PAGE, HEW_PAGE);
    hew_os_unmap(memory, HEW_PAGE);
    errno = 7;
    CHECK(!hew_os_purge(memory, HEW_PAGE));
    CHECK_EQUAL(errno, 7);
}

TEST(moved_pages_take_their_contents_along_and_leave_zeros)
{
    char *from = hew_os_map(MIB, HEW_PAGE), *to = hew_os_map(2 * MIB, HEW_PAGE);
    long before = pages_held();
    memset(from, 5, MIB);
    memset(to + MIB, 6, MIB);
    CHECK(hew_os_move(from, to, MIB) == HEW_OS_MOVED);
    CHECK(is_filled(to, MIB, 5));
    CHECK(is_filled(to + MIB, MIB, 6));
    CHECK(is_filled(from, MIB, 0));
    CHECK_EQUAL(pages_held(), before);
    from[0] = 1;
    CHECK(to[0] == 5);
    hew_os_unmap(from, MIB);
    hew_os_unmap(to, 2 * MIB);
}

/* Kernels before 6.17 would unmap the new place and then refuse. */
TEST(pages_of_two_mappings_are_not_moved)
{
    char *from = hew_os_map(2 * MIB, HEW_PAGE), *to = hew_os_map(2 * MIB, HEW_PAGE);
    memset(from, 5, 2 * MIB);
    CHECK(mprotect(from + MIB, MIB, PROT_READ) == 0);
    CHECK(hew_os_move(from, to, 2 * MIB) == HEW_OS_NOT_MOVED);
    CHECK(is_filled(from, 2 * MIB, 5));
    CHECK(is_filled(to, 2 * MIB, 0));
    hew_os_unmap(from, 2 * MIB);
    hew_os_unmap(to, 2 * MIB);
}

TEST(a_move_leaves_no_page_behind_the_old_place)
{
    char *from = hew_os_map(2 * MIB, HEW_PAGE), *to = hew_os_map(MIB, HEW_PAGE);
    hew_os_unmap(from + MIB, MIB); /* room for the kernel to grow the mapping */
    CHECK(hew_os_move(from, to, MIB) == HEW_OS_MOVED);
    CHECK(hew_os_map_at(from + MIB, HEW_PAGE));
    hew_os_unmap(from, MIB + HEW_PAGE);
    hew_os_unmap(to, MIB);
}

static _Atomic bool stop;

/* Maps, writes, looks again and unmaps, as any library of the program may at any time. */
static void *
map_and_look(void *unused)
{
    size_t lost = 0;
    while (!atomic_load(&stop)) {
        char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memory[0] = memory[MIB - 1] = 5;
        for (unsigned look = 0; look < 20; look++) {
            hew_cpu_pause();
        }
        lost += memory[0] != 5 || memory[MIB - 1] != 5;
        munmap(memory, MIB);
    }
    return (void *)lost;
}

TEST(a_move_never_takes_a_place_that_another_thread_has_mapped)
{
    pthread_t threads[2];
    char *from = hew_os_map(MIB, HEW_PAGE), *to = hew_os_map(MIB, HEW_PAGE);
    for (unsigned i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, map_and_look, NULL);
    }
    for (unsigned turn = 0; turn < 5000; turn++) {
        from[0] = 1;
        CHECK(hew_os_move(from, to, MIB) == HEW_OS_MOVED);
        char *swap = from;
        from = to;
        to = swap;
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < 2; i++) {
        void *lost;
        pthread_join(threads[i], &lost);
        CHECK(lost == NULL);
    }
    hew_os_unmap(from, MIB);
    hew_os_unmap(to, MIB);
}

TEST(the_data_segment_grows_by_aligned_zero_pages)
{
    errno = 7;
    for (size_t alignment = HEW_PAGE; alignment <= MIB; alignment *= 4) {
        char *memory = hew_os_extend_data(2 * HEW_PAGE, alignment);
        CHECK(memory != NULL && (uintptr_t)memory % alignment == 0);
        CHECK(memory + 2 * HEW_PAGE == (char *)sbrk(0));
        CHECK(is_filled(memory, 2 * HEW_PAGE, 0));
        memset(memory, 5, 2 * HEW_PAGE);
    }
    CHECK(hew_os_extend_data((size_t)PTRDIFF_MAX - HEW_PAGE + 1, HEW_PAGE) == NULL);
    CHECK(hew_os_extend_data((size_t)1 << 50, HEW_PAGE) == NULL);
    CHECK_EQUAL(errno, 7);
}

/* glibc takes the error for the new break. */
static void
extend_where_a_filter_refuses(void)
{
    if (filter_refuse(SYS_brk, ENOMEM)) {
        CHECK(hew_os_extend_data(2 * HEW_PAGE, HEW_PAGE) == NULL);
        CHECK(hew_os_extend_data(2 * HEW_PAGE, HEW_PAGE) == NULL);
    }
}

TEST(a_data_segment_that_a_filter_refuses_to_extend_is_not_taken_for_memory)
{
    CHECK_EQUAL(child_run(extend_where_a_filter_refuses).status, 0);
}

enum { EXTENSIONS = 400 };

/* Fills what it gets with a number of its own, and looks at the end whether that is still there.  NULL: it is. */
static void *
extend_and_look(void *number)
{
    char *got[EXTENSIONS];
    char mark = (char)(intptr_t)number;
    for (size_t i = 0; i < EXTENSIONS; i++) {
        got[i] = hew_os_extend_data(HEW_PAGE, HEW_PAGE);
        if (got[i] != NULL) {
            memset(got[i], mark, HEW_PAGE);
        }
    }
    for (size_t i = 0; i < EXTENSIONS; i++) {
        if (got[i] != NULL && !is_filled(got[i], HEW_PAGE, mark)) {
            return got[i];
        }
    }
    return NULL;
}

TEST(threads_that_extend_the_data_segment_at_once_share_no_page)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, extend_and_look, (void *)(i + 1)), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *lost;
        pthread_join(threads[i], &lost);
        CHECK(lost == NULL);
    }
}

TEST(advice_reaches_the_mapping)
{
    char *memory = hew_os_map(4 * MIB, 2 * MIB);
    CHECK(!mapping_has_flag(memory, " dd"));
    hew_os_advise_no_dump(memory, 2 * MIB);
    CHECK(mapping_has_flag(memory, " dd"));
    CHECK(!mapping_has_flag(memory + 2 * MIB, " dd"));
    hew_os_advise_huge(memory, 2 * MIB);
    bool huge_pages_exist = mapping_has_flag(memory, " hg");
    hew_os_advise_small(memory, 2 * MIB);
    CHECK(!mapping_has_flag(memory, " hg"));
    CHECK_EQUAL(mapping_has_flag(memory, " nh"), huge_pages_exist);
    hew_os_unmap(memory, 4 * MIB);
}
