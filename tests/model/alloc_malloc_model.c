/* SPDX-License-Identifier: MIT */
/*
 * alloc_malloc: random requests through the alloc layer against a table of what must be there: contents, alignment,
 * usable sizes and no overlap.  After each run everything is freed, and the slabs and pages must say so too.
 */
#include "layers_alloc.h"
#include "layers_random.h"
#include "own_classes.h"
#include "test.h"

#include "fakes/child.h"

#include <pthread.h>

#define SLOTS 400
#define THREADS 4
#define EXCHANGE 64

struct object {
    unsigned char *address;
    size_t size;
    unsigned char seed;
};

struct table {
    struct layers_random dice;
    struct object slots[SLOTS];
    size_t bytes;
    bool exchanges; /* swaps objects with the other threads */
    unsigned operations;
};

static _Atomic unsigned wrong; /* CHECK is for the main thread alone */
static _Thread_local bool refuse_now;
static bool faults; /* now and then memory is refused */

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

static unsigned char
byte_at(const struct object *object, size_t place)
{
    return (unsigned char)(place * 7 + object->seed);
}

/* Looks at the first `size` bytes, or writes them: all of a small object, some of each page of a larger one. */
static void
walk(const struct object *object, size_t size, bool write)
{
    size_t step = object->size <= 4096 ? 1 : 509;
    bool right = true;
    for (size_t i = 0; i < size; i += step) {
        if (write) {
            object->address[i] = byte_at(object, i);
        }
        right = right && object->address[i] == byte_at(object, i);
    }
    if (write && size > 0) {
        object->address[size - 1] = byte_at(object, size - 1);
    }
    right = right && (size < object->size || size == 0 || object->address[size - 1] == byte_at(object, size - 1));
    expect(right, "an object holds what was written");
}

static size_t
random_size(struct layers_random *dice)
{
    switch (layers_random_below(dice, 20)) {
    case 0:
        return layers_random_below(dice, (size_t)3 << 20);
    case 1:
    case 2:
        return layers_random_below(dice, 70000);
    case 3:
    case 4:
    case 5:
        return layers_random_below(dice, 16000);
    default:
        return layers_random_below(dice, 600);
    }
}

static void
check_new(struct table *table, struct object *object, size_t alignment)
{
    size_t usable = hew_alloc_usable("malloc_usable_size", object->address);
    expect(usable >= object->size, "no less is usable than was asked for");
    expect(((uintptr_t)object->address & (alignment - 1)) == 0, "an object is aligned");
    for (unsigned i = 0; i < SLOTS; i++) {
        struct object *other = &table->slots[i];
        expect(other == object || other->address == NULL || other->address + other->size <= object->address ||
                   object->address + usable <= other->address,
               "no two objects overlap");
    }
    object->seed = (unsigned char)layers_random_next(&table->dice);
    walk(object, object->size, true);
    table->bytes += object->size;
}

static bool
zeros(const unsigned char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void
take(struct table *table, struct object *object)
{
    size_t size = random_size(&table->dice), alignment = size <= 8 ? 8 : HEW_QUANTUM;
    unsigned kind = (unsigned)layers_random_below(&table->dice, 6);
    if (kind <= 2) {
        object->address = layers_malloc(size);
    } else if (kind == 3) {
        alignment = size <= HEW_SMALL_MAX ? 16 : HEW_PAGE;
        object->address = size > HEW_SMALL_MAX ? hew_alloc_large(size, true) : hew_alloc_aligned(size, 16, true);
        expect(object->address == NULL || zeros(object->address, size), "zeroed memory is zero");
    } else {
        alignment = (size_t)1 << layers_random_below(&table->dice, kind == 4 ? 13 : 19);
        object->address = hew_alloc_aligned(size, alignment, false);
    }
    expect(object->address != NULL || refuse_now, "memory was to be had");
    if (object->address != NULL) {
        object->size = size;
        check_new(table, object, alignment);
    }
}

static void
give(struct table *table, struct object *object)
{
    walk(object, object->size, false);
    table->bytes -= object->size;
    layers_free(object->address);
    object->address = NULL;
}

static void
resize(struct table *table, struct object *object)
{
    size_t size = 1 + random_size(&table->dice), before = object->size;
    if (before > 16384 && layers_random_once_in(&table->dice, 2)) { /* near what it is: in place, perhaps */
        size = before / 2 + layers_random_below(&table->dice, before);
    }
    walk(object, before, false);
    unsigned char *resized = hew_realloc_object(object->address, size);
    expect(resized != NULL || refuse_now, "memory was to be had");
    if (resized == NULL) {
        walk(object, before, false);
        return;
    }
    object->address = resized;
    walk(object, size < before ? size : before, false);
    table->bytes -= before;
    object->size = size;
    check_new(table, object, 8);
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
    table->bytes += (other.address == NULL ? 0 : other.size) - (object->address == NULL ? 0 : object->size);
    *object = other;
}

static void
operate(struct table *table)
{
    struct object *object = &table->slots[layers_random_below(&table->dice, SLOTS)];
    refuse_now = faults && layers_random_once_in(&table->dice, 8);
    if (table->exchanges && layers_random_once_in(&table->dice, 4)) {
        swap(table, object);
    } else if (object->address == NULL) {
        take(table, object);
    } else if (layers_random_once_in(&table->dice, 3)) {
        resize(table, object);
    } else {
        give(table, object);
    }
    refuse_now = false;
}

static void *
run(void *argument)
{
    struct table *table = argument;
    for (unsigned i = 0; i < table->operations && wrong == 0; i++) {
        operate(table);
        if (i % 5000 == 4999) { /* start afresh: slabs and pages go back */
            for (unsigned slot = 0; slot < SLOTS; slot++) {
                if (table->slots[slot].address != NULL) {
                    give(table, &table->slots[slot]);
                }
            }
        }
    }
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (table->slots[slot].address != NULL) {
            give(table, &table->slots[slot]);
        }
    }
    layers_end_thread();
    return NULL;
}

static uint64_t own_table; /* 0: the usual classes */

static void
boot_once(void)
{
    static uint16_t sizes[HEW_CODE_SMALL_LAST];
    if (hew_small_end == 0) {
        struct layers_random dice = {layers_random_seed() + own_table};
        layers_harden();
        CHECK(layers_boot_with(sizes, own_table == 0 ? 0 : own_classes_random(&dice, sizes)));
        hew_options.narenas = 3;
        for (unsigned i = 0; i < EXCHANGE; i++) {
            pthread_mutex_init(&exchange[i].lock, NULL);
        }
    }
}

static void
run_alone(uint64_t variant, unsigned operations)
{
    static struct table table;
    boot_once();
    table = (struct table){.dice = {layers_random_seed() + variant}, .operations = layers_operations(operations)};
    run(&table);
    CHECK_EQUAL(table.bytes, 0);
    CHECK_EQUAL(wrong, 0);
    CHECK(layers_settled());
}

static void
run_together(unsigned rounds)
{
    static struct table tables[THREADS];
    pthread_t threads[THREADS];
    boot_once();
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < THREADS; i++) {
            tables[i] = (struct table){.dice = {layers_random_seed() + 100 * round + i},
                                       .exchanges = true,
                                       .operations = layers_operations(10000)};
            CHECK_EQUAL(pthread_create(&threads[i], NULL, run, &tables[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        struct table *table = &tables[0];
        for (unsigned i = 0; i < EXCHANGE; i++) {
            if (exchange[i].object.address != NULL) {
                give(table, &exchange[i].object);
            }
        }
        layers_end_thread();
        CHECK_EQUAL(wrong, 0);
        CHECK(layers_settled());
    }
}

static void
run_under_own_classes(void)
{
    run_alone(own_table, 6000);
    run_together(1);
}

/* First: a process boots once, and these do so in children. */
TEST(threads_find_what_they_left_under_any_classes)
{
    for (own_table = 1; own_table <= 6; own_table++) {
        CHECK_EQUAL(child_run(run_under_own_classes).status, 0);
    }
    own_table = 0;
}

TEST(one_thread_finds_what_it_left)
{
    run_alone(1, 30000);
}

TEST(one_thread_without_a_cache_finds_what_it_left)
{
    layers_without_caches = true;
    run_alone(2, 15000);
    layers_without_caches = false;
}

TEST(one_thread_finds_what_it_left_when_memory_is_refused_now_and_then)
{
    hew_os_faults.refuse = refuse;
    faults = true;
    run_alone(3, 15000);
    faults = false;
    hew_os_faults.refuse = NULL;
}

static void
set_decay(int64_t dirty_ms, int64_t muzzy_ms)
{
    HEW_EACH_ARENA(arena)
    {
        arena->pages.heap->dirty_decay.decay_ms = dirty_ms;
        arena->pages.heap->muzzy_decay.decay_ms = muzzy_ms;
    }
}

TEST(one_thread_finds_what_it_left_when_every_freed_page_goes_back_at_once)
{
    set_decay(0, 0);
    hew_options.retain = false;
    run_alone(4, 15000);
    hew_options.retain = true;
}

TEST(one_thread_finds_what_it_left_when_pages_go_back_lazily)
{
    set_decay(0, 1);
    run_alone(5, 15000);
    set_decay(10000, 0);
}

TEST(four_threads_that_free_each_others_objects_find_what_they_left)
{
    run_together(3);
}
