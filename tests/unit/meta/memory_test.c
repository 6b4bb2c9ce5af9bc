/* SPDX-License-Identifier: MIT */
/* Unit tests of meta/memory: zero-filled aligned pieces, reuse, growth, and a system that refuses. */
#include "meta/memory.h"

#include "base/size_class.h"
#include "os/memory.h"
#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"
#include "fakes/random.h"

#include <pthread.h>
#include <sched.h>

#define KIB ((size_t)1 << 10)
#define PIECES 200

static bool
is_filled(const unsigned char *memory, size_t size, unsigned char with)
{
    for (size_t i = 0; i < size; i++) {
        if (memory[i] != with) {
            return false;
        }
    }
    return true;
}

/* From here on each CPU has lists of its own. */
static void
crowd(void)
{
    void *piece = hew_meta_take(100);
    hew_mutex_lock(&hew_meta_lock);
    hew_meta_lock.waits += 8;
    hew_mutex_unlock(&hew_meta_lock);
    hew_meta_give(piece, 100);
    CHECK(atomic_load(&hew_meta_crowded));
}

/* First: no thread has waited yet. */
TEST(the_first_who_learns_of_a_crowd_begins_the_lists)
{
    CHECK(!atomic_load(&hew_meta_crowded));
    CHECK_EQUAL(child_run(crowd).status, 0);
}

TEST(every_piece_is_zero_filled_and_begins_a_cache_line)
{
    for (size_t size = 1; size <= 300 * KIB; size = size * 5 / 4 + 1) {
        unsigned char *piece = hew_meta_take(size);
        CHECK((uintptr_t)piece % HEW_CACHE_LINE == 0);
        CHECK(is_filled(piece, size, 0));
        memset(piece, 0xff, size);
    }
}

TEST(a_piece_given_back_is_the_next_of_its_size_and_zero_again)
{
    unsigned char *first = hew_meta_take(1000);
    unsigned char *second = hew_meta_take(1000);
    memset(first, 0xff, 1000);
    hew_meta_give(first, 1000);
    CHECK(hew_meta_take(400) != first);
    unsigned char *again = hew_meta_take(1000);
    CHECK(again == first && again != second);
    CHECK(is_filled(again, 1000, 0));
}

TEST(sizes_of_one_class_share_their_pieces)
{
    void *piece = hew_meta_take(1025);
    hew_meta_give(piece, 1025);
    CHECK(hew_meta_take(1152) == piece);
}

TEST(use_is_counted_both_ways)
{
    struct hew_meta_usage before = hew_meta_usage();
    void *piece = hew_meta_take(4000);
    struct hew_meta_usage during = hew_meta_usage();
    CHECK(during.used >= before.used + 4000);
    CHECK(during.mapped >= during.used);
    hew_meta_give(piece, 4000);
    CHECK_EQUAL(hew_meta_usage().used, before.used);
    CHECK_EQUAL(hew_meta_usage().mapped, during.mapped); /* never given back to the system */
}

TEST(pieces_do_not_overlap_while_chunks_are_added)
{
    static struct {
        unsigned char *at;
        size_t size;
    } held[PIECES];
    size_t mapped = hew_meta_usage().mapped;
    uint64_t random = 1;
    for (unsigned step = 0; step < 4000; step++) {
        unsigned choice = (unsigned)random_below(&random, PIECES);
        if (held[choice].at != NULL) {
            CHECK(is_filled(held[choice].at, held[choice].size, (unsigned char)(choice + 1)));
            hew_meta_give(held[choice].at, held[choice].size);
            held[choice].at = NULL;
            continue;
        }
        held[choice].size = 1 + random_below(&random, random_below(&random, 8) == 0 ? 200 * KIB : 2 * KIB);
        held[choice].at = hew_meta_take(held[choice].size);
        CHECK(is_filled(held[choice].at, held[choice].size, 0));
        memset(held[choice].at, (int)choice + 1, held[choice].size);
    }
    CHECK(hew_meta_usage().mapped > mapped);
}

TEST(a_piece_larger_than_a_chunk_gives_its_memory_back_and_keeps_its_addresses)
{
    struct hew_meta_usage before = hew_meta_usage();
    unsigned char *piece = hew_meta_take(5000 * KIB);
    CHECK(piece != NULL && piece[0] == 0 && piece[5000 * KIB - 1] == 0);
    memset(piece, 0xff, 5000 * KIB);
    CHECK_EQUAL(hew_meta_usage().used - before.used, 5000 * KIB);
    CHECK_EQUAL(hew_meta_usage().mapped - before.mapped, 5000 * KIB);
    hew_meta_give(piece, 5000 * KIB);
    CHECK_EQUAL(hew_meta_usage().used, before.used);
    CHECK_EQUAL(hew_meta_usage().touched, before.touched);
    CHECK(hew_os_resident(piece, 5000 * KIB) <= 4 * KIB);
    unsigned char *front = hew_meta_take(2000 * KIB), *rest = hew_meta_take(3000 * KIB);
    CHECK(front == piece && rest == piece + 2000 * KIB);
    CHECK(is_filled(front, 2000 * KIB, 0) && is_filled(rest, 3000 * KIB, 0));
    CHECK_EQUAL(hew_meta_usage().mapped - before.mapped, 5000 * KIB);
    hew_meta_give(front, 2000 * KIB);
    hew_meta_give(rest, 3000 * KIB);
}

TEST(of_large_pieces_the_smallest_that_is_large_enough_goes_out)
{
    unsigned char *large = hew_meta_take(256 * KIB), *small = hew_meta_take(64 * KIB);
    CHECK((uintptr_t)large % HEW_PAGE == 0 && (uintptr_t)small % HEW_PAGE == 0);
    memset(large, 0xff, 256 * KIB);
    hew_meta_give(small, 64 * KIB);
    hew_meta_give(large, 256 * KIB);
    CHECK(hew_os_resident(large, 256 * KIB) <= 4 * KIB);
    CHECK(hew_meta_take(64 * KIB) == small);
    unsigned char *again = hew_meta_take(256 * KIB);
    CHECK(again == large && is_filled(again, 256 * KIB, 0));
    hew_meta_give(small, 64 * KIB);
    hew_meta_give(again, 256 * KIB);
}

TEST(a_large_piece_whose_memory_the_system_did_not_take_is_zero_all_the_same)
{
    unsigned char *piece = hew_meta_take(1700 * KIB);
    memset(piece, 0xff, 1700 * KIB);
    faults_refuse("madvise", 0, 1);
    hew_meta_give(piece, 1700 * KIB);
    faults_end();
    unsigned char *again = hew_meta_take(1700 * KIB);
    CHECK(again == piece && is_filled(again, 1700 * KIB, 0));
    hew_meta_give(again, 1700 * KIB);
}

/* Takes pieces of 4 KiB until the system is asked for a chunk; the one that needed it. */
static void *
take_until_asked(void)
{
    void *piece;
    do {
        piece = hew_meta_take(4 * KIB);
    } while (piece != NULL && faults_asked == 0);
    return piece;
}

TEST(without_room_for_a_whole_chunk_a_smaller_one_will_do)
{
    size_t mapped = hew_meta_usage().mapped;
    faults_refuse("mprotect", 0, 3);
    CHECK(take_until_asked() != NULL);
    faults_end();
    CHECK_EQUAL(faults_asked, 4);
    CHECK_EQUAL(hew_meta_usage().mapped - mapped, KIB * KIB / 8);
}

TEST(without_any_room_there_is_no_piece_and_what_is_counted_stays)
{
    faults_refuse(NULL, 0, FAULTS_ALL);
    CHECK(take_until_asked() == NULL);
    struct hew_meta_usage before = hew_meta_usage();
    CHECK(hew_meta_take(4 * KIB) == NULL);
    CHECK(hew_meta_take(3500 * KIB) == NULL);
    CHECK(hew_meta_take(9000 * KIB) == NULL);
    faults_end();
    CHECK_EQUAL(hew_meta_usage().used, before.used);
    CHECK_EQUAL(hew_meta_usage().mapped, before.mapped);
    CHECK(hew_meta_take(4 * KIB) != NULL);
}

TEST(a_piece_given_back_needs_no_room_to_come_again)
{
    void *piece = hew_meta_take(3 * KIB);
    hew_meta_give(piece, 3 * KIB);
    faults_refuse(NULL, 0, FAULTS_ALL);
    CHECK(hew_meta_take(3 * KIB) == piece);
    faults_end();
}

static void *
take_and_give(void *number)
{
    uintptr_t wrong = 0;
    uint64_t random = (uint64_t)(uintptr_t)number;
    for (unsigned turn = 0; turn < 3000; turn++) {
        size_t size = 1 + random_below(&random, 3000);
        unsigned char *piece = hew_meta_take(size);
        wrong += !is_filled(piece, size, 0);
        memset(piece, (int)(uintptr_t)number, size);
        wrong += !is_filled(piece, size, (unsigned char)(uintptr_t)number);
        hew_meta_give(piece, size);
    }
    return (void *)wrong;
}

static void
let_four_threads_take_and_give(void)
{
    pthread_t threads[4];
    size_t used = hew_meta_usage().used;
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, take_and_give, (void *)(i + 1));
    }
    for (unsigned i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL);
    }
    CHECK_EQUAL(hew_meta_usage().used, used);
}

TEST(a_piece_of_any_size_comes_again_at_once)
{
    for (size_t size = 1024; size <= 9000 * KIB; size += size / 4) {
        for (size_t odd = 0; odd < 3; odd++) {
            void *piece = hew_meta_take(size - 1 + odd);
            size_t used = hew_meta_usage().used;
            hew_meta_give(piece, size - 1 + odd);
            CHECK(hew_meta_take(size - 1 + odd) == piece);
            CHECK_EQUAL(hew_meta_usage().used, used);
            hew_meta_give(piece, size - 1 + odd);
        }
    }
}

TEST(threads_never_get_the_same_piece)
{
    let_four_threads_take_and_give();
}

/* False: this process may not. */
static bool
stay_on_cpu(unsigned cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static void
stay_on_this_cpu(void)
{
    CHECK(stay_on_cpu((unsigned)sched_getcpu()));
}

TEST(in_a_crowd_threads_never_get_the_same_piece_and_use_is_counted)
{
    crowd();
    let_four_threads_take_and_give();
}

TEST(in_a_crowd_a_piece_given_back_is_taken_again_without_the_lock_of_all)
{
    crowd();
    stay_on_this_cpu();
    hew_meta_give(hew_meta_take(600), 600);
    uint64_t before = hew_meta_lock.operations;
    for (unsigned turn = 0; turn < 1000; turn++) {
        unsigned char *piece = hew_meta_take(600);
        CHECK(is_filled(piece, 600, 0));
        memset(piece, 0xff, 600);
        hew_meta_give(piece, 600);
    }
    CHECK_EQUAL(hew_meta_lock.operations, before);
}

TEST(in_a_crowd_what_one_cpu_was_given_back_is_not_the_next_of_another)
{
    unsigned first = 0, second;
    while (!stay_on_cpu(first)) {
        first++;
    }
    for (second = first + 1; second < 64 && !stay_on_cpu(second); second++) {
    }
    crowd();
    CHECK(stay_on_cpu(first));
    void *piece = hew_meta_take(800), *other = piece;
    hew_meta_give(piece, 800);
    if (second < 64 && stay_on_cpu(second)) { /* there are two */
        other = hew_meta_take(800);
        CHECK(other != NULL && other != piece);
        hew_meta_give(other, 800);
        CHECK(stay_on_cpu(first));
    }
    CHECK(hew_meta_take(800) == piece);
}

TEST(in_a_crowd_a_cpu_keeps_few_pieces_and_the_others_find_the_rest)
{
    crowd();
    stay_on_this_cpu();
    static void *pieces[PIECES];
    for (unsigned i = 0; i < PIECES; i++) {
        pieces[i] = hew_meta_take(700);
        memset(pieces[i], 0xff, 700);
    }
    size_t used = hew_meta_usage().used, touched = hew_meta_usage().touched;
    for (unsigned i = 0; i < PIECES; i++) {
        hew_meta_give(pieces[i], 700);
    }
    CHECK(hew_meta_usage().used <= used - PIECES * (size_t)700);
    atomic_store(&hew_meta_crowded, false); /* past this CPU's list */
    for (unsigned i = 0; i < PIECES - 8; i++) {
        pieces[i] = hew_meta_take(700);
    }
    CHECK_EQUAL(hew_meta_usage().touched, touched);
}
