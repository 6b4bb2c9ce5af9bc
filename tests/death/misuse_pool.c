/* SPDX-License-Identifier: MIT */
/*
 * misuse_pool: what must not be done to pool sets.
 */
#include "misuse.h"

#include "hew/pool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* By name: the library may be preloaded. */
#define CALL(name) ((__typeof__(name) *)dlsym(RTLD_DEFAULT, #name))

static const struct hew_pool_size sizes[] = {{100, 1000}, {1000, 100}};

static struct hew_pool_set *
make(enum hew_pool_check check)
{
    struct hew_pool_options options = {.check = check};
    return CALL(hew_pool_create)(sizes, 2, &options);
}

static void *
take(struct hew_pool_set *set)
{
    void *object = CALL(hew_pool_malloc)(set, 100);
    misuse_announce(object);
    return object;
}

static void
give(struct hew_pool_set *set, void *object)
{
    CALL(hew_pool_free)(set, opaque(object));
}

static void
pool_free_the_stack(void)
{
    char local[64] = "";
    misuse_announce(local);
    give(make(HEW_POOL_CHECK_NOTHING), local);
}

static void
pool_free_of_another_set(void)
{
    give(make(HEW_POOL_CHECK_NOTHING), take(make(HEW_POOL_CHECK_NOTHING)));
}

static void *
ask_size(void *set)
{
    char local[64] = "";
    misuse_announce(local);
    CALL(hew_pool_usable_size)(set, opaque(local));
    return NULL;
}

static void
pool_size_of_the_stack(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ask_size, make(HEW_POOL_CHECK_NOTHING));
    pthread_join(thread, NULL);
}

static void
pool_free_twice(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_NOTHING);
    void *object = take(set);
    give(set, object);
    give(set, object);
}

static void
pool_free_twice_with_one_between(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_FREES);
    void *object = take(set), *other = CALL(hew_pool_malloc)(set, 100);
    give(set, object);
    give(set, other);
    give(set, object);
}

static void
pool_free_twice_found_late(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_NOTHING);
    void *object = take(set), *other = CALL(hew_pool_malloc)(set, 100);
    give(set, object);
    give(set, other);
    give(set, object);
    CALL(hew_pool_trim)(set);
}

static void
plain_free_of_a_pool_twice(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_NOTHING);
    void *object = take(set);
    give(set, object);
    free(opaque(object));
}

static void
pool_free_inside(void)
{
    char *object = CALL(hew_pool_malloc)(make(HEW_POOL_CHECK_NOTHING), 1000);
    struct hew_pool_set *set = CALL(hew_pool_of)(object);
    misuse_announce(object + 16);
    misuse_announce(object);
    give(set, opaque(object));
    give(set, object + 16);
}

static void
plain_free_inside_a_pools_object(void)
{
    char *object = CALL(hew_pool_malloc)(make(HEW_POOL_CHECK_NOTHING), 100);
    misuse_announce(object + 16);
    misuse_announce(object);
    free(opaque(object + 16));
}

static void
pool_free_inside_a_dynamic_pools_object(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_NOTHING);
    char *object = NULL;
    for (unsigned i = 0; i < 2000; i++) {
        object = CALL(hew_pool_malloc)(set, 100);
    }
    misuse_announce(object + 1);
    misuse_announce(object);
    give(set, object + 1);
}

static void
pool_free_of_a_pool_that_went(void)
{
    struct hew_pool_options options = {.at_hand = SIZE_MAX, .dynamic_count = 100};
    struct hew_pool_set *set = CALL(hew_pool_create)(sizes, 2, &options);
    void *objects[1001];
    for (unsigned i = 0; i < 1001; i++) {
        objects[i] = CALL(hew_pool_malloc)(set, 100);
    }
    misuse_announce(objects[1000]);
    for (unsigned i = 0; i < 50; i++) { /* more than a quarter of the pool */
        give(set, objects[i]);
    }
    give(set, objects[1000]);
    free(opaque(objects[1000]));
}

static void
pool_used_after_its_end(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_NOTHING);
    misuse_announce(set);
    CALL(hew_pool_destroy)(set);
    CALL(hew_pool_malloc)(opaque(set), 100);
}

static void
pool_ended_twice(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_NOTHING);
    misuse_announce(set);
    CALL(hew_pool_destroy)(set);
    CALL(hew_pool_destroy)(opaque(set));
}

static void
pool_object_freed_after_its_set(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_NOTHING);
    misuse_announce(set);
    void *object = CALL(hew_pool_malloc)(set, 100);
    CALL(hew_pool_destroy_with_objects)(set);
    CALL(hew_pool_free)(opaque(set), object);
}

static void
pool_object_written_after_free(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_WRITES);
    char *object = take(set);
    give(set, object);
    ((volatile char *)object)[40] = 1;
    for (unsigned i = 0; i < 1000; i++) {
        CALL(hew_pool_malloc)(set, 100);
    }
}

static void
pool_object_written_before_the_end(void)
{
    struct hew_pool_set *set = make(HEW_POOL_CHECK_WRITES);
    char *object = take(set);
    give(set, object);
    ((volatile char *)object)[111] = 1;
    CALL(hew_pool_destroy)(set);
}

#define NOT_OF_THE_SET "not an object of this pool set: "
#define TWICE "double free: the 112-byte object of a pool is free already"
#define WRITTEN "<hew>: hew_pool_malloc(%0): written to after it was freed: the program wrote to it after that"

const struct misuse pool_misuses[] = {
    {"pool_free_the_stack", pool_free_the_stack, NULL,
     "<hew>: hew_pool_free(%0): " NOT_OF_THE_SET "no pool's, and not the fallback's"},
    {"pool_free_of_another_set", pool_free_of_another_set, NULL,
     "<hew>: hew_pool_free(%0): " NOT_OF_THE_SET "another set's"},
    {"pool_size_of_the_stack", pool_size_of_the_stack, NULL,
     "<hew>: hew_pool_usable_size(%0): " NOT_OF_THE_SET "no pool's, and not the fallback's"},
    {"pool_free_twice", pool_free_twice, NULL, "<hew>: hew_pool_free(%0): " TWICE},
    {"pool_free_twice_with_one_between", pool_free_twice_with_one_between, NULL, "<hew>: hew_pool_free(%0): " TWICE},
    {"pool_free_twice_found_late", pool_free_twice_found_late, NULL, "<hew>: hew_pool_free(%0): " TWICE},
    {"plain_free_of_a_pool_twice", plain_free_of_a_pool_twice, NULL, "<hew>: free(%0): " TWICE},
    {"pool_free_inside", pool_free_inside, NULL,
     "<hew>: hew_pool_free(%0): points inside an allocation: inside the 1008-byte object at %1"},
    {"plain_free_inside_a_pools_object", plain_free_inside_a_pools_object, NULL,
     "<hew>: free(%0): points inside an allocation: inside the 112-byte object at %1"},
    {"pool_free_inside_a_dynamic_pools_object", pool_free_inside_a_dynamic_pools_object, NULL,
     "<hew>: hew_pool_free(%0): points inside an allocation: inside the 112-byte object at %1"},
    {"pool_free_of_a_pool_that_went", pool_free_of_a_pool_that_went, NULL,
     "<hew>: free(%0): " NOT_OF_THE_SET "a pool's that has gone"},
    {"pool_used_after_its_end", pool_used_after_its_end, NULL,
     "<hew>: hew_pool_malloc(%0): this pool set has been destroyed"},
    {"pool_ended_twice", pool_ended_twice, NULL, "<hew>: hew_pool_destroy(%0): this pool set has been destroyed"},
    {"pool_object_freed_after_its_set", pool_object_freed_after_its_set, NULL,
     "<hew>: hew_pool_free(%0): this pool set has been destroyed"},
    {"pool_object_written_after_free", pool_object_written_after_free, NULL, WRITTEN},
    {"pool_object_written_before_the_end", pool_object_written_before_the_end, NULL, WRITTEN},
    {NULL, NULL, NULL, NULL},
};
