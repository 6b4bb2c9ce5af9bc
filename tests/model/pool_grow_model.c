/* SPDX-License-Identifier: MIT */
/*
 * pool_grow: dynamic pools that come and go under the set's lock while others take and give without it: src/pool/block.c, group.c
 * and grow.c themselves, in every interleaving of two or three threads.  No thread gets an object that another one has, or whose
 * memory has left; in the end every count is what the bitmaps say, and nothing stays that could go.
 *
 * Memory, address maps and the clock are the test's own, so that each run begins alike.
 */
#include "meta/memory.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "os/mutex.h"
#include "page/heap.h"

#include "interleave.h"
#include "test.h"

#include "pool/grow.h"
#include "pool/range.h"

#define COUNT 2 /* objects in a dynamic pool */
#define STRIDE 16
#define RANGES 4
#define DISTANCE ((uintptr_t)0x10000)

static struct hew_pool_set the_set;
static struct hew_pool_class the_class;
static struct hew_pool_range ranges[RANGES];
static bool held[RANGES][COUNT], lock;
static char pieces[4096] HEW_ALIGNED(HEW_CACHE_LINE); /* blocks and their words */
static size_t pieces_used;

static uint64_t
hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + at, sizeof word);
        hash = interleave_mix(hash, word);
    }
    return hash;
}

static uint64_t
hash_memory(void)
{
    uint64_t hash = hash_bytes(lock, &the_class, sizeof the_class);
    hash = hash_bytes(hash, ranges, sizeof ranges);
    hash = hash_bytes(hash, held, sizeof held);
    hash = hash_bytes(hash, &the_set.bytes, sizeof the_set.bytes);
    return hash_bytes(hash, pieces, pieces_used);
}

/* What the lock guards. */
static uint64_t
hash_guarded(void)
{
    uint64_t hash = hash_bytes(the_class.pools, ranges, sizeof ranges);
    hash = interleave_mix(hash, the_set.bytes + (uintptr_t)the_class.spare);
    for (struct hew_pool_block *block = the_class.first; block != NULL; block = block->next) {
        hash = interleave_mix(hash, block->there + (uintptr_t)block->range + (uintptr_t)block->spare_below);
    }
    return hash;
}

static void *
take_piece(size_t size)
{
    void *piece = pieces + pieces_used;
    pieces_used += (size + HEW_CACHE_LINE - 1) / HEW_CACHE_LINE * HEW_CACHE_LINE;
    CHECK(pieces_used <= sizeof pieces);
    return piece;
}

static struct hew_pool_range *
take_range(size_t size, struct hew_pool_block *block)
{
    unsigned at = 0;
    while (at < RANGES && ranges[at].size != 0) {
        at++;
    }
    CHECK(at < RANGES);
    ranges[at % RANGES] = (struct hew_pool_range){
        .set = &the_set, .address = (at + 1) * DISTANCE, .size = size, .block = block, .reciprocal = block->reciprocal};
    return &ranges[at % RANGES];
}

static void
give_range(struct hew_pool_range *range)
{
    *range = (struct hew_pool_range){.set = NULL};
}

static struct hew_pool_range *
range_of(uintptr_t address)
{
    struct hew_pool_range *range = &ranges[(address / DISTANCE - 1) % RANGES];
    return range->set == NULL ? NULL : range;
}

#define hew_mutex_lock(mutex) interleave_lock(&lock, hash_guarded)
#define hew_mutex_unlock(mutex) interleave_unlock(&lock)
#define hew_meta_take(size) take_piece(size)
#define hew_meta_give(piece, size) ((void)(piece), (void)(size))
#define hew_clock_ms() UINT64_C(0)
#define hew_page_raise_due() ((void)0)
#define hew_cpus_current() 0u
#define hew_pool_range_take(set, size, block) take_range(size, block)
#define hew_pool_range_give(set, range) give_range(range)
#define hew_pool_range_of(address) range_of(address)

#include "pool/block.c"
#include "pool/group.c"
#include "pool/grow.c"

static void
begin_empty(void)
{
    memset(pieces, 0, sizeof pieces);
    memset(ranges, 0, sizeof ranges);
    memset(held, 0, sizeof held);
    pieces_used = 0;
    lock = false;
    the_set = (struct hew_pool_set){.count = 1, .classes = &the_class, .processors = 1};
    the_set.options.dynamic_count = COUNT;
    the_set.options.release_ms = UINT64_MAX;
    memset(&the_class, 0, sizeof the_class);
    the_class.stride = STRIDE;
    the_class.fixed = hew_pool_grow_block(&the_set, 0, 0);
    the_class.fixed->fixed = true;
}

static bool *
holder(const void *object)
{
    uintptr_t address = (uintptr_t)object;
    return &held[(address / DISTANCE - 1) % RANGES][address % DISTANCE / STRIDE % COUNT];
}

static void *
take_one(void)
{
    void *object;
    size_t capacity;
    unsigned taken;
    do { /* as serve.c does */
        capacity = atomic_load_explicit(&the_class.capacity, memory_order_relaxed);
        taken = hew_pool_group_take(&the_set, 0, 0, &object + 1, 1);
    } while (taken == 0 && hew_pool_grow(&the_set, 0, capacity));
    CHECK_EQUAL(taken, 1);
    CHECK(range_of((uintptr_t)object) != NULL);
    CHECK(!*holder(object));
    *holder(object) = true;
    return object;
}

static void
give_one(void *object)
{
    *holder(object) = false;
    if (hew_pool_group_give(&the_set, "free", &object, 1)) {
        hew_pool_shrink(&the_set, 0, HEW_POOL_BY_ROOM);
    }
}

static void
take_and_give(void)
{
    give_one(take_one());
}

static void
take_and_keep(void)
{
    take_one();
}

static void
trim(void)
{
    hew_pool_shrink(&the_set, 0, HEW_POOL_ALL);
}

static void
begin_with_a_whole_pool(void)
{
    begin_empty();
    take_and_give();
}

static void
begin_with_a_pool_in_use(void)
{
    begin_empty();
    take_and_keep();
    take_and_keep();
}

static void
give_the_first(void)
{
    give_one((void *)DISTANCE);
}

static void
give_the_second(void)
{
    give_one((void *)(DISTANCE + STRIDE));
}

static unsigned
held_now(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < RANGES * COUNT; i++) {
        count += held[i / COUNT][i % COUNT];
    }
    return count;
}

static void
every_count_is_true(void)
{
    size_t capacity = 0, pools = 0, idle = 0;
    unsigned whole = 0;
    for (struct hew_pool_block *block = the_class.first; block != NULL; block = block->next) {
        size_t here = (size_t)__builtin_popcountll(block->words[0]);
        CHECK_EQUAL(block->free, here);
        CHECK(block->there || here == 0);
        CHECK(!block->there || block->range->set == &the_set);
        capacity += block->there ? block->count : 0;
        pools += block->there;
        idle += here;
        whole += block->there && here == block->count;
    }
    CHECK_EQUAL(the_class.capacity, capacity);
    CHECK_EQUAL(the_class.pools, pools);
    CHECK_EQUAL(the_class.whole, whole);
    CHECK_EQUAL(the_class.grown - the_class.gone, pools);
    CHECK_EQUAL(capacity - idle, held_now());
    CHECK(!lock);
}

static void
what_can_go_goes(void)
{
    every_count_is_true();
    trim();
    every_count_is_true();
    CHECK_EQUAL(the_class.whole, 0);
    CHECK(the_class.spare == NULL);
    size_t bytes = 0;
    for (unsigned i = 0; i < RANGES; i++) {
        bytes += ranges[i].size;
    }
    CHECK_EQUAL(the_set.bytes, bytes);
    CHECK_EQUAL(bytes, the_class.pools * HEW_GRAIN);
    CHECK(held_now() != 0 || bytes == 0);
}

TEST(two_takers_that_make_a_set_grow)
{
    interleave_all(&(struct interleave){2, begin_empty, what_can_go_goes, hash_memory, {take_and_keep, take_and_keep}});
}

TEST(an_object_comes_back_while_another_thread_makes_the_set_grow)
{
    interleave_all(&(struct interleave){
        2, begin_with_a_pool_in_use, what_can_go_goes, hash_memory, {give_the_first, take_and_keep}});
}

TEST(a_taker_that_keeps_what_it_has_while_another_thread_trims)
{
    interleave_all(
        &(struct interleave){2, begin_with_a_whole_pool, what_can_go_goes, hash_memory, {take_and_keep, trim}});
}

TEST(the_last_two_objects_of_a_pool_come_back_at_once)
{
    interleave_all(&(struct interleave){
        2, begin_with_a_pool_in_use, what_can_go_goes, hash_memory, {give_the_first, give_the_second}});
}

TEST(two_trims_at_once)
{
    interleave_all(&(struct interleave){2, begin_with_a_whole_pool, what_can_go_goes, hash_memory, {trim, trim}});
}

TEST(the_last_objects_come_back_while_another_thread_trims)
{
    interleave_all(&(struct interleave){
        3, begin_with_a_pool_in_use, what_can_go_goes, hash_memory, {give_the_first, give_the_second, trim}});
}
