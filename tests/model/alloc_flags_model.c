/* SPDX-License-Identifier: MIT */
/*
 * alloc_flags: random requests with flags - alignment, zero, arenas public and private, the thread's cache, an explicit one,
 * none - against a table of what must be there: contents, places, sizes and counts.  Threads hand objects to each other.
 * After each run everything is freed, by whatever way, and the slabs and pages must say so too.
 */
#include "alloc/flags.h"

#include "alloc/utilization.h"
#include "cache/count.h"
#include "cache/explicit.h"
#include "layers_alloc.h"
#include "layers_random.h"
#include "test.h"

#include <pthread.h>

#define SLOTS 300
#define THREADS 4
#define EXCHANGE 64
#define PUBLIC_ARENAS 3
#define PRIVATE_ARENAS 2

struct object {
    unsigned char *address;
    size_t size; /* what was asked for */
    int flags;   /* of its last allocation: arena and alignment */
    unsigned char seed;
};

struct table {
    struct layers_random dice;
    struct object slots[SLOTS];
    uint64_t allocated, freed;
    unsigned operations, cache; /* the number of its explicit cache */
    bool exchanges;
};

static _Atomic unsigned wrong; /* CHECK is for the main thread alone */
static _Thread_local bool refuse_now;
static bool faults;

static bool
refuse(const char *call)
{
    return refuse_now;
}

static void
expect(bool condition, const char *what)
{
    if (!condition && wrong++ < 10) {
        printf("not true: %s\n", what);
    }
}

static bool
chance(struct table *table, unsigned times)
{
    return layers_random_once_in(&table->dice, times);
}

static size_t
random_size(struct table *table)
{
    static const size_t bounds[] = {600, 600, 600, 16000, 70000, (size_t)3 << 20};
    return layers_random_below(&table->dice, bounds[layers_random_below(&table->dice, 6)]);
}

static int
random_cache(struct table *table)
{
    unsigned kind = (unsigned)layers_random_below(&table->dice, 4);
    return kind == 0 ? 1 << 8 : kind == 1 ? (int)(table->cache + 2) << 8 : 0;
}

static int
random_flags(struct table *table)
{
    int flags = random_cache(table);
    if (chance(table, 3)) {
        flags |= (int)layers_random_below(&table->dice, 18);
    }
    if (chance(table, 3)) {
        flags |= (int)(layers_random_below(&table->dice, PUBLIC_ARENAS + PRIVATE_ARENAS) + 1) << 20;
    }
    return chance(table, 3) ? flags | HEW_FLAGS_ZERO : flags;
}

/* Looks at the first `size` bytes, or writes them: all of a small object, some of each page of a larger one. */
static void
walk(const struct object *object, size_t size, bool write)
{
    size_t step = object->size <= 4096 ? 1 : 509;
    bool right = true;
    for (size_t i = 0; i < size; i += step) {
        unsigned char byte = (unsigned char)(i * 7 + object->seed);
        object->address[i] = write ? byte : object->address[i];
        right = right && object->address[i] == byte;
    }
    expect(right, "an object holds what was written");
}

static bool
zeros(const unsigned char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static size_t
usable(const struct object *object)
{
    return hew_alloc_usable("sallocx", object->address);
}

/* `object` is where, and as large as, its size and flags say; `foretold` is what they said before.  A fine class may have opened since then, for
 * this object or not. */
static void
check_place(struct table *table, struct object *object, size_t foretold)
{
    size_t room = usable(object), alignment = (size_t)1 << (object->flags & HEW_FLAGS_LG_ALIGN);
    expect(room == foretold || room == hew_flags_usable(object->size, object->flags), "the usable size is as foretold");
    expect(((uintptr_t)object->address & (alignment - 1)) == 0, "an object is aligned");
    for (unsigned i = 0; i < SLOTS; i++) {
        struct object *other = &table->slots[i];
        expect(other == object || other->address == NULL || other->address + other->size <= object->address ||
                   object->address + room <= other->address,
               "no two objects overlap");
    }
    object->seed = (unsigned char)layers_random_next(&table->dice);
    walk(object, object->size, true);
}

static void
take(struct table *table, struct object *object)
{
    *object = (struct object){.size = random_size(table), .flags = random_flags(table)};
    size_t foretold = hew_flags_usable(object->size, object->flags);
    object->address = hew_flags_alloc(object->size, object->flags);
    expect(object->address != NULL || refuse_now, "memory was to be had");
    if (object->address == NULL) {
        return;
    }
    unsigned arena = (unsigned)object->flags >> 20;
    bool own = arena == hew_alloc_own_cache()->arena->index + 1u;
    bool cached = (object->flags & HEW_FLAGS_CACHE) != 1 << 8 && (own || (object->flags & HEW_FLAGS_CACHE) != 0);
    expect(arena == 0 || cached || hew_map_extent((uintptr_t)object->address)->arena == arena - 1,
           "the arena is the right one"); /* a cache may hold objects of any */
    bool zero = (object->flags & HEW_FLAGS_ZERO) != 0;
    expect(!zero || zeros(object->address, usable(object)), "zeroed memory is zero");
    table->allocated += usable(object);
    check_place(table, object, foretold);
}

static void
give(struct table *table, struct object *object)
{
    int flags = random_cache(table) | (object->flags & HEW_FLAGS_LG_ALIGN);
    walk(object, object->size, false);
    table->freed += usable(object);
    if (chance(table, 2)) {
        hew_flags_are_of_size("sdallocx", object->address, object->size, flags);
    }
    if ((flags & HEW_FLAGS_CACHE) != 0 || !hew_fast_give(object->address)) {
        hew_flags_free("dallocx", object->address, flags);
    }
    object->address = NULL;
}

static void
resize(struct table *table, struct object *object)
{
    struct object after = {.size = 1 + random_size(table), .flags = random_flags(table), .seed = object->seed};
    size_t before = usable(object), kept = object->size < after.size ? object->size : after.size;
    if (before > 16384 && chance(table, 2)) { /* near what it is: in place, perhaps */
        after.size = before / 2 + layers_random_below(&table->dice, before);
        kept = object->size < after.size ? object->size : after.size;
    }
    size_t foretold = hew_flags_usable(after.size, after.flags);
    after.address = hew_flags_realloc(object->address, after.size, after.flags);
    expect(after.address != NULL || refuse_now, "memory was to be had");
    if (after.address == NULL) {
        walk(object, object->size, false);
        return;
    }
    table->allocated += usable(&after); /* also where nothing moved */
    table->freed += before;
    object->address = after.address;
    walk(object, kept, false);
    bool zero = (after.flags & HEW_FLAGS_ZERO) != 0 && usable(&after) > before;
    expect(!zero || zeros(after.address + before, usable(&after) - before), "what was gained is zero");
    *object = after;
    check_place(table, object, foretold);
}

static void
resize_in_place(struct table *table, struct object *object)
{
    size_t before = usable(object), size = before / 2 + layers_random_below(&table->dice, before);
    size_t extra = layers_random_below(&table->dice, before);
    int flags = chance(table, 2) ? HEW_FLAGS_ZERO : 0;
    size_t now = hew_flags_resize(object->address, size, extra, flags);
    expect(now == usable(object), "the answer is the usable size");
    expect(now == before || (before > HEW_SMALL_MAX && now >= size && now <= hew_flags_usable(size + extra, 0)),
           "it is as asked for");
    expect(flags == 0 || now <= before || zeros(object->address + before, now - before), "what was gained is zero");
    walk(object, object->size < now ? object->size : now, false);
    if (now != before) {
        table->allocated += now;
        table->freed += before;
        object->size = now;
        object->flags &= ~HEW_FLAGS_LG_ALIGN;
        walk(object, object->size, true);
    }
}

static struct {
    pthread_mutex_t lock;
    struct object object;
} exchange[EXCHANGE];

static void
swap(struct table *table, struct object *object)
{
    unsigned place = (unsigned)layers_random_below(&table->dice, EXCHANGE);
    pthread_mutex_lock(&exchange[place].lock);
    struct object other = exchange[place].object;
    exchange[place].object = *object;
    pthread_mutex_unlock(&exchange[place].lock);
    *object = other;
}

/* Whatever an address is, asking about it does nothing. */
static void
query(struct table *table, struct object *object)
{
    struct hew_utilization_bin answer;
    expect(hew_utilization_query(object->address, &answer), "an object is known");
    expect(answer.extent.free_regions < answer.extent.regions, "and it is not free");
    hew_utilization_query((void *)layers_random_next(&table->dice), &answer);
    hew_utilization_should_move(object->address);
}

static void
renew_cache(struct table *table)
{
    bool gone = hew_explicit_destroy(table->cache);
    expect(gone, "an explicit cache is there until it is destroyed");
    while (!hew_explicit_create(&table->cache)) {
        refuse_now = false;
    }
}

static void
operate(struct table *table)
{
    struct object *object = &table->slots[layers_random_below(&table->dice, SLOTS)];
    refuse_now = faults && chance(table, 8);
    if (table->exchanges && chance(table, 4)) {
        swap(table, object);
    } else if (chance(table, 2000)) {
        renew_cache(table);
    } else if (object->address == NULL) {
        take(table, object);
    } else if (chance(table, 4)) {
        resize(table, object);
    } else if (chance(table, 4)) {
        resize_in_place(table, object);
    } else if (chance(table, 8)) {
        query(table, object);
    } else {
        give(table, object);
    }
    refuse_now = false;
}

static void
check_counts(struct table *table)
{
    struct hew_cache *own = hew_alloc_own_cache();
    expect(hew_count_allocated(own) == table->allocated, "what was allocated is known");
    expect(hew_count_freed(own) == table->freed, "what was freed is known");
}

static void *
run(void *argument)
{
    struct table *table = argument;
    bool made = hew_explicit_create(&table->cache);
    expect(made, "an explicit cache was to be had");
    for (unsigned i = 0; i < table->operations; i++) {
        operate(table);
        if (i % 1000 == 0) {
            check_counts(table);
        }
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        if (table->slots[i].address != NULL) {
            give(table, &table->slots[i]);
        }
    }
    check_counts(table);
    hew_explicit_destroy(table->cache);
    layers_end_thread();
    return NULL;
}

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        layers_harden();
        CHECK(layers_boot());
        hew_options.narenas = PUBLIC_ARENAS;
        for (unsigned i = 0; i < PUBLIC_ARENAS + PRIVATE_ARENAS; i++) {
            struct hew_arena *arena = hew_arena_get(i);
            CHECK(arena != NULL);
            atomic_store(&arena->pages.heap->is_private, i >= PUBLIC_ARENAS);
        }
    }
}

static struct table tables[THREADS];

static void
run_threads(unsigned threads, unsigned operations, uint64_t salt)
{
    pthread_t workers[THREADS];
    boot_once();
    wrong = 0;
    for (unsigned i = 0; i < threads; i++) {
        tables[i] = (struct table){.operations = layers_operations(operations), .exchanges = threads > 1};
        tables[i].dice.state = layers_random_seed() + salt + i;
        CHECK(pthread_create(&workers[i], NULL, run, &tables[i]) == 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i], NULL);
    }
    for (unsigned i = 0; i < EXCHANGE; i++) {
        if (exchange[i].object.address != NULL) {
            walk(&exchange[i].object, exchange[i].object.size, false);
            hew_flags_free("dallocx", exchange[i].object.address, 1 << 8);
        }
        exchange[i].object.address = NULL;
    }
    layers_end_thread();
    CHECK_EQUAL(wrong, 0);
    CHECK(layers_settled());
}

TEST(one_thread_finds_what_it_left_whatever_the_flags)
{
    run_threads(1, 60000, 1);
}

TEST(threads_that_exchange_objects_find_what_they_left)
{
    run_threads(THREADS, 25000, 2);
}

TEST(without_caches_it_is_the_same)
{
    layers_without_caches = true;
    run_threads(2, 20000, 3);
    layers_without_caches = false;
}

TEST(a_thread_whose_memory_is_refused_now_and_then_loses_nothing)
{
    boot_once();
    hew_os_faults.refuse = refuse;
    faults = true;
    run_threads(1, 30000, 4);
    faults = false;
    hew_os_faults.refuse = NULL;
}
