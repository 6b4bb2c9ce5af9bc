/* SPDX-License-Identifier: MIT */
/*
 * page_shelf: the lock-free part of page heaps, src/page/shelf.c itself, in every interleaving of two threads: what
 * is put there is found by one taker or by the sweep, a shelf that has been closed stays empty, and of two who give back one
 * extent one does.
 */
#include "page/hooked.h"

#include "interleave.h"
#include "test.h"

/* The heap's dirty stock, the address map and the threads' tokens are the model's. */
#define hew_hooked_insert_dirty(heap, extent) note_dirty(extent)
#define hew_extent_claim(extent) (interleave_step(), interleave_note(hew_extent_claim(extent)) != 0)
#define hew_thread_token() ((const void *)((uintptr_t)(interleave_current + 1) << HEW_LG_PAGE))
#define hew_futex_wait(word, value, milliseconds) wait_for(word)

#define EXTENTS 2
#define SIZE ((size_t)2 << 20)

static struct hew_page_heap the_heap;
static hew_map_entry no_leaf;
static struct hew_extent the_extents[EXTENTS];
static uint8_t codes[EXTENTS + 1];
static struct hew_large_counts classes[256];
static _Atomic size_t bytes_out;
static unsigned out[EXTENTS], dirty[EXTENTS]; /* how often: held by a thread or the program, given to the heap */
static bool locked;                           /* the heap's lock */

static void
note_dirty(const struct hew_extent *extent)
{
    dirty[extent - the_extents]++;
}

static void
wait_for(_Atomic uint32_t *mark)
{
    struct interleave_thread *thread = &interleave_threads[interleave_current];
    thread->waits = (const bool *)mark; /* 0 or 1 */
    interleave_step();
    thread->waits = NULL;
}

#include "page/shelf.c"

static uint64_t
hash_rank(uint64_t hash, const struct hew_shelf_rank *rank)
{
    hash = interleave_mix(hash, rank->held + (uint64_t)rank->used * 2);
    for (unsigned i = 0; i < HEW_SHELF_SLOTS; i++) {
        hash = rank->slot[i].newest == NULL ? hash : interleave_mix(hash, (uintptr_t)rank->slot[i].newest + i);
    }
    return hash;
}

static uint64_t
hash_memory(void)
{
    uint64_t hash = (uint64_t)the_heap.shelf.open + the_heap.shelf.filled * 2u + locked * 4u;
    for (unsigned i = 0; i < HEW_SHELF_RANKS; i++) {
        hash = hash_rank(hash, &the_heap.shelf.rank[i]);
    }
    for (unsigned i = 0; i < EXTENTS; i++) {
        hash = interleave_mix(hash, out[i] * 16 + dirty[i] * 4 + codes[i + 1]);
        hash = interleave_mix(hash, (uintptr_t)the_extents[i].large.below);
    }
    return hash;
}

/* An open shelf, and two extents that are out. */
static void
begin(void)
{
    memset(&the_heap, 0, sizeof the_heap);
    the_heap.shelf.tally[0] = (struct hew_large_tally){classes, &bytes_out};
    the_heap.shelf.open = true;
    the_heap.dirty_decay.decay_ms = 1000;
    the_heap.counts.active = EXTENTS * SIZE;
    hew_code_map = codes;
    atomic_store(&hew_map_roots[0], &no_leaf); /* what lies below 1 GiB is ours */
    locked = false;
    for (unsigned i = 0; i < EXTENTS; i++) {
        codes[i + 1] = HEW_CODE_SLOW;
        the_extents[i] = (struct hew_extent){
            .address = (i + 1) * HEW_GRAIN, .size = SIZE, .state = HEW_EXTENT_ACTIVE, .code = HEW_CODE_SLOW};
        out[i] = 1;
        dirty[i] = 0;
    }
}

/* As slab/large.c does: what is refused is claimed and goes to the heap. */
static void
give(unsigned number)
{
    out[number]--;
    if (hew_shelf_put_one(&the_heap.shelf, &the_extents[number]) == HEW_SHELF_REFUSED) {
        CHECK(hew_extent_claim(&the_extents[number]));
        note_dirty(&the_extents[number]);
    }
}

static void
give_first(void)
{
    give(0);
}

static void
give_second(void)
{
    give(1);
}

static void
give_both(void)
{
    give(0);
    give(1);
}

static void
take_one(void)
{
    struct hew_extent *extent = hew_shelf_take_one(&the_heap.shelf, SIZE, 0);
    if (extent != NULL) {
        CHECK_EQUAL(out[extent - the_extents]++, 0);
    }
}

static void
give_and_take(void)
{
    give_first();
    take_one();
}

static uint64_t
under_lock(void)
{
    return the_heap.watched;
}

static void
sweep(void)
{
    interleave_lock(&locked, under_lock);
    hew_page_sweep_held(&the_heap);
    interleave_unlock(&locked);
}

static void
close(void)
{
    interleave_lock(&locked, under_lock);
    the_heap.watched = true;
    hew_shelf_decide(&the_heap);
    for (unsigned i = 0; i < EXTENTS; i++) {
        CHECK(out[i] + dirty[i] <= 1);
    }
    interleave_unlock(&locked);
}

static void
each_is_in_one_place(void)
{
    for (unsigned i = 0; i < EXTENTS; i++) {
        CHECK_EQUAL(out[i] + dirty[i], 1);
        CHECK_EQUAL(codes[i + 1], out[i] != 0 ? HEW_CODE_SLOW : HEW_CODE_NONE);
    }
}

static void
a_last_sweep_finds_all(void)
{
    hew_page_sweep_held(&the_heap);
    each_is_in_one_place();
}

TEST(a_shelf_that_was_closed_while_somebody_put_is_empty)
{
    interleave_all(&(struct interleave){2, begin, each_is_in_one_place, hash_memory, {give_first, close}});
    interleave_all(&(struct interleave){2, begin, each_is_in_one_place, hash_memory, {give_both, close}});
}

TEST(nothing_that_is_put_is_missed_by_the_next_sweep)
{
    interleave_all(&(struct interleave){2, begin, a_last_sweep_finds_all, hash_memory, {give_and_take, sweep}});
    interleave_all(&(struct interleave){2, begin, a_last_sweep_finds_all, hash_memory, {give_first, give_second}});
}

static unsigned claims;

static void
begin_without_claims(void)
{
    begin();
    claims = 0;
}

/* What a program does that frees an object in two threads. */
static void
free_first(void)
{
    if (hew_shelf_put_one(&the_heap.shelf, &the_extents[0]) == HEW_SHELF_REFUSED) {
        if (!hew_extent_claim(&the_extents[0])) {
            return; /* here the process would end */
        }
        note_dirty(&the_extents[0]);
    }
    claims++;
}

static void
one_has_freed_it(void)
{
    hew_page_sweep_held(&the_heap);
    CHECK_EQUAL(claims, 1);
    CHECK_EQUAL(dirty[0], 1);
}

TEST(of_two_who_free_one_extent_at_once_one_does)
{
    interleave_all(&(struct interleave){
        3, begin_without_claims, one_has_freed_it, hash_memory, {free_first, free_first, free_first}});
}
