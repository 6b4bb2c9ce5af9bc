/* SPDX-License-Identifier: MIT */
/*
 * pool_block: the lock-free part of pool sets, src/pool/block.c itself, in every interleaving of two or three threads: no thread
 * gets an object that another one has, no free object is ever out of reach, and a block that is claimed has nothing left,
 * also when it comes back with other memory.
 */
#include "pool/block.h"

#include "interleave.h"
#include "test.h"

#include "pool/block.c"

#define OBJECTS 66 /* two words, the second of which has two objects */
#define STRIDE 16
#define FIRST_PLACE ((uintptr_t)0x10000)
#define SECOND_PLACE ((uintptr_t)0x20000)

static struct hew_pool_block block;
static uint64_t room[3];
static unsigned char held[OBJECTS]; /* by how many threads */
static bool gone;                   /* the block has been claimed: its memory is not there */

static uint64_t
hash_memory(void)
{
    uint64_t hash = gone ? 3 : 5;
    for (unsigned i = 0; i < 3; i++) {
        hash = interleave_mix(hash, room[i]);
    }
    hash = interleave_mix(hash, block.lowest);
    hash = interleave_mix(hash, block.address);
    for (unsigned i = 0; i < OBJECTS; i++) {
        hash = interleave_mix(hash, held[i]);
    }
    return hash;
}

/* `word_0`: the free ones among the first 64. */
static void
begin_with(uint64_t word_0, uint64_t word_1)
{
    memset(room, 0, sizeof room);
    memset(held, 0, sizeof held);
    gone = false;
    block = (struct hew_pool_block){.address = FIRST_PLACE};
    hew_pool_block_begin(&block, STRIDE, OBJECTS, room);
    if (word_0 != 0) {
        hew_pool_block_give(&block, 0, word_0);
    }
    if (word_1 != 0) {
        hew_pool_block_give(&block, 1, word_1);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        held[i] = ((i < 64 ? word_0 >> i : word_1 >> (i - 64)) & 1) == 0; /* by threads outside the test */
    }
}

static void
note_taken(void *const *objects, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uintptr_t offset = (uintptr_t)objects[i] - block.address;
        CHECK(!gone && offset < OBJECTS * STRIDE && offset % STRIDE == 0);
        CHECK_EQUAL(held[offset / STRIDE % OBJECTS]++, 0);
    }
}

static void
take_some(unsigned wanted)
{
    void *objects[OBJECTS], **end = objects + OBJECTS;
    unsigned taken = hew_pool_block_take(&block, 0, end, wanted);
    note_taken(end - taken, taken);
}

static void
give_one(unsigned number)
{
    held[number]--;
    CHECK(hew_pool_block_give(&block, number / 64, UINT64_C(1) << number % 64));
}

static void
take_one_object(void)
{
    take_some(1);
}

static void
take_two_objects(void)
{
    take_some(2);
}

static void
take_of_the_first_word(void)
{
    void *objects[2], **end = objects + 2;
    unsigned taken = hew_pool_block_take_of_word(&block, 0, end, 2);
    note_taken(end - taken, taken);
}

static void
take_and_give_back(void)
{
    void *object;
    if (hew_pool_block_take(&block, 1, &object + 1, 1) == 1) {
        note_taken(&object, 1);
        give_one((unsigned)(((uintptr_t)object - block.address) / STRIDE));
    }
}

static void
give_object_3(void)
{
    give_one(3);
}

static void
give_object_4(void)
{
    give_one(4);
}

static void
give_object_65(void)
{
    give_one(65);
}

static void
give_the_last_two(void)
{
    give_one(0);
    give_one(65);
}

/* As growth and shrinking do: away with it, and back at another place. */
static void
claim_and_come_back(void)
{
    if (hew_pool_block_claim(&block)) {
        for (unsigned i = 0; i < OBJECTS; i++) {
            CHECK_EQUAL(held[i], 0);
        }
        gone = true;
        interleave_step();
        block.address = SECOND_PLACE;
        gone = false;
        for (unsigned i = 0; i < 64; i++) { /* to keep the number of states small */
            held[i] = 1;
        }
        CHECK(hew_pool_block_give(&block, 1, hew_pool_block_mask(&block, 1)));
    }
}

static void
claim_for_good(void)
{
    gone = hew_pool_block_claim(&block);
}

/* A thread that runs alone now gets every object that no other thread has. */
static void
all_free_objects_are_found(void)
{
    unsigned idle = 0;
    void *objects[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) {
        idle += held[i] == 0;
    }
    CHECK_EQUAL(hew_pool_block_take(&block, 0, objects + OBJECTS, OBJECTS), gone ? 0 : idle);
}

static void
begin_with_two_free(void)
{
    begin_with(0x6, 0);
}

static void
begin_with_none_free(void)
{
    begin_with(0, 0);
}

static void
begin_with_one_in_each_word(void)
{
    begin_with(1, 1);
}

static void
begin_with_all_free(void)
{
    begin_with(UINT64_MAX, 3);
}

static void
begin_with_all_but_two(void)
{
    begin_with(UINT64_MAX - 1, 1);
}

TEST(two_takers_and_a_giver_of_the_same_word)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_two_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {take_two_objects, take_one_object, give_object_3}});
}

TEST(two_givers_and_a_taker_of_an_empty_word)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_none_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {give_object_3, give_object_4, take_one_object}});
}

TEST(a_taker_that_gives_back_and_two_others)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_one_in_each_word,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {take_and_give_back, take_one_object, give_object_3}});
}

TEST(givers_of_both_words_and_takers_of_both)
{
    interleave_all(&(struct interleave){4,
                                        begin_with_none_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {give_object_3, give_object_65, take_two_objects, take_one_object}});
}

TEST(a_taker_of_one_word_another_of_any_and_a_giver)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_two_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {take_of_the_first_word, take_one_object, give_object_3}});
}

TEST(a_taker_of_one_word_of_a_block_that_goes_and_comes_back)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_all_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {claim_and_come_back, take_of_the_first_word, take_one_object}});
}

TEST(a_claim_among_takers)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_all_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {claim_for_good, take_and_give_back, take_one_object}});
}

TEST(a_claim_while_the_last_objects_come_back)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_all_but_two,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {claim_for_good, give_the_last_two, take_and_give_back}});
}

TEST(a_block_that_goes_and_comes_back_with_other_memory)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_all_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {claim_and_come_back, take_one_object, take_one_object}});
}

TEST(two_claims_at_once)
{
    interleave_all(&(struct interleave){3,
                                        begin_with_all_free,
                                        all_free_objects_are_found,
                                        hash_memory,
                                        {claim_and_come_back, claim_and_come_back, take_and_give_back}});
}
