/* SPDX-License-Identifier: MIT */
/*
 * stress: many threads, every allocation call, and each object's content checked whenever it is touched again.
 *
 * Each thread owns a table of objects and draws one slot at a time: an empty slot is filled by one of the allocation
 * calls; a full one is freed, reallocated, or exchanged with whatever another thread left in a shared table.  Every
 * object starts with a pattern made from a seed that is kept outside it, so two objects that overlap, a realloc that
 * loses bytes and a calloc that hands out old data are all found, and named by the operation that found them.
 *
 * Settings: HEW_STRESS_OPS (in all, default 30 million), HEW_STRESS_THREADS (default 8), HEW_STRESS_SEED.
 */
#include "under_test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

enum { OWN_SLOTS = 4096, SHARED_SLOTS = 512, WHOLE_UP_TO = 512, STRIDE = 1024 };

struct object {
    unsigned char *data;
    size_t size;
    uint64_t seed;
};

struct stressor {
    pthread_t thread;
    uint64_t random;
    uint64_t operations;
    struct object slot[OWN_SLOTS];
};

struct exchange {
    pthread_mutex_t mutex;
    struct object object;
};

static struct exchange shared[SHARED_SLOTS];
static bool strict;

static void
complain(const char *found_by, const struct object *object, size_t offset)
{
    fprintf(stderr, "stress: %s found object %p of %zu bytes changed at offset %zu: %02x, not %02x\n", found_by,
            (void *)object->data, object->size, offset, object->data[offset],
            (unsigned char)(object->seed + offset * 7));
    abort();
}

/* Small objects are patterned whole; in large ones a byte per STRIDE and the last byte: every page is touched. */
static size_t
next_offset(size_t offset, size_t size)
{
    size_t next = offset < WHOLE_UP_TO ? offset + 1 : offset + STRIDE;
    return next >= size && offset + 1 < size ? size - 1 : next;
}

static void
pattern_write(const struct object *object)
{
    for (size_t offset = 0; offset < object->size; offset = next_offset(offset, object->size))
        object->data[offset] = (unsigned char)(object->seed + offset * 7);
}

static void
pattern_check(const struct object *object, size_t length, const char *found_by)
{
    size_t whole = length < WHOLE_UP_TO ? length : WHOLE_UP_TO;
    for (size_t offset = 0; offset < whole; offset++) {
        if (object->data[offset] != (unsigned char)(object->seed + offset * 7))
            complain(found_by, object, offset);
    }
    for (size_t offset = WHOLE_UP_TO; offset < length; offset += STRIDE) {
        if (object->data[offset] != (unsigned char)(object->seed + offset * 7))
            complain(found_by, object, offset);
    }
    if (length == object->size && length > 0 &&
        object->data[length - 1] != (unsigned char)(object->seed + (length - 1) * 7))
        complain(found_by, object, length - 1);
}

/* Mostly small, as in programs; one in 2,048 up to 2 MiB. */
static size_t
draw_size(uint64_t *random)
{
    uint64_t draw = under_test_random(random);
    unsigned kind = draw & 0x1fff, high = kind < 4 ? 21 : kind < 64 ? 17 : kind < 1024 ? 13 : kind < 3072 ? 10 : 8;
    size_t limit = (size_t)1 << ((draw >> 16) % high + 1);
    return (size_t)((draw >> 32) & (limit - 1));
}

static void
check_zero(const struct object *object)
{
    for (size_t i = 0; i < object->size; i++) {
        if (object->data[i] != 0) {
            fprintf(stderr, "stress: calloc(%zu) is not zero at offset %zu\n", object->size, i);
            abort();
        }
    }
}

/* Other allocators are known to forget the alignment of an object of no bytes. */
static void
check_new(const struct object *object, size_t alignment)
{
    if (object->size == 0 && !strict)
        alignment = 8;
    if (object->data == NULL || (uintptr_t)object->data % alignment != 0 ||
        malloc_usable_size(object->data) < object->size) {
        fprintf(stderr, "stress: got %p for %zu bytes aligned to %zu\n", (void *)object->data, object->size, alignment);
        abort();
    }
}

static void
fill_slot(struct stressor *self, struct object *object)
{
    uint64_t draw = under_test_random(&self->random);
    size_t alignment = 8;
    object->size = draw_size(&self->random);
    object->seed = draw >> 40;
    if (object->size >= 16)
        alignment = 16;
    switch (draw % 16) {
    case 0:
    case 1:
        object->data = calloc(object->size, 1);
        check_new(object, alignment);
        check_zero(object);
        break;
    case 2:
        alignment = (size_t)8 << ((draw >> 8) % 10);
        if (posix_memalign((void **)&object->data, alignment, object->size) != 0)
            object->data = NULL;
        break;
    case 3:
        alignment = (size_t)8 << ((draw >> 8) % 10);
        object->data = memalign(alignment, object->size);
        break;
    case 4:
        object->data = realloc(NULL, object->size);
        break;
    default:
        object->data = malloc(object->size);
    }
    check_new(object, alignment);
    pattern_write(object);
}

static void
drop(struct object *object, const char *found_by)
{
    pattern_check(object, object->size, found_by);
    free(object->data);
    object->data = NULL;
    object->size = 0;
}

static void
resize(struct stressor *self, struct object *object)
{
    size_t size = draw_size(&self->random) + 1, kept = size < object->size ? size : object->size;
    pattern_check(object, object->size, "realloc, before,");
    object->data = realloc(object->data, size);
    if (object->data != NULL)
        pattern_check(object, kept, "realloc, after,");
    object->size = size;
    check_new(object, size >= 16 ? 16 : 8);
    pattern_write(object);
}

static void
swap_with_others(struct stressor *self, struct object *object)
{
    struct exchange *place = &shared[under_test_random(&self->random) % SHARED_SLOTS];
    pthread_mutex_lock(&place->mutex);
    struct object theirs = place->object;
    place->object = *object;
    pthread_mutex_unlock(&place->mutex);
    *object = theirs;
}

static void *
stress(void *argument)
{
    struct stressor *self = argument;
    for (uint64_t i = 0; i < self->operations; i++) {
        uint64_t draw = under_test_random(&self->random);
        struct object *object = &self->slot[(draw >> 8) % OWN_SLOTS];
        if (object->data == NULL)
            fill_slot(self, object);
        else if (draw % 8 == 0)
            resize(self, object);
        else if (draw % 8 <= 2)
            swap_with_others(self, object);
        else
            drop(object, "free");
    }
    for (size_t i = 0; i < OWN_SLOTS; i++)
        drop(&self->slot[i], "the last free");
    return NULL;
}

int
main(void)
{
    long threads = under_test_setting("HEW_STRESS_THREADS", 8);
    long operations = under_test_setting("HEW_STRESS_OPS", 30000000);
    uint64_t seed = (uint64_t)under_test_setting("HEW_STRESS_SEED", 1);
    strict = under_test_strict();
    struct stressor *stressors = calloc((size_t)threads, sizeof *stressors);
    if (threads < 1 || operations < 1 || stressors == NULL) {
        fprintf(stderr, "stress: HEW_STRESS_THREADS and HEW_STRESS_OPS must be 1 or more\n");
        return 2;
    }
    for (size_t i = 0; i < SHARED_SLOTS; i++)
        pthread_mutex_init(&shared[i].mutex, NULL);
    for (long i = 0; i < threads; i++) {
        stressors[i].random = seed * 1000003 + (uint64_t)i;
        stressors[i].operations = (uint64_t)(operations / threads);
        if (pthread_create(&stressors[i].thread, NULL, stress, &stressors[i]) != 0)
            return 2;
    }
    for (long i = 0; i < threads; i++)
        pthread_join(stressors[i].thread, NULL);
    for (size_t i = 0; i < SHARED_SLOTS; i++)
        drop(&shared[i].object, "the last free");
    free(stressors);
    printf("stress: %ld operations by %ld threads, every object as it was written\n", operations, threads);
    return 0;
}
