/* SPDX-License-Identifier: MIT */
#include "pool/group.h"

#include "base/text.h"
#include "os/fatal.h"
#include "pool/grow.h"
#include "pool/object.h"
#include "pool/range.h"

/* Objects of one word of one block. */
struct batch {
    struct hew_pool_block *block;
    size_t word;
    uint64_t mask;
};

/* From a caller's store. */
static unsigned
take_stored(struct hew_pool_set *set, struct hew_pool_block *block, void **objects, unsigned wanted)
{
    return (unsigned)set->backing.take(block->store, objects, wanted);
}

/* Objects whose constructor fails go back. */
static unsigned
prepare(struct hew_pool_set *set, struct hew_pool_block *block, void **objects, unsigned count)
{
    unsigned good = 0;
    for (unsigned i = 0; i < count; i++) {
        if (hew_pool_object_out(set, block, objects[i])) {
            objects[good++] = objects[i];
        } else {
            hew_pool_group_give(set, "hew_pool_malloc", &objects[i], 1);
        }
    }
    return good;
}

static unsigned
take_of_block(struct hew_pool_set *set, struct hew_pool_block *block, void **objects, unsigned wanted)
{
    unsigned taken = block->store == NULL ? hew_pool_block_take(block, objects, wanted)
                                          : take_stored(set, block, objects, wanted);
    if (taken == 0) {
        return 0;
    }
    hew_pool_grow_note_taken(&set->classes[block->number], block, taken);
    return HEW_LIKELY(!hew_pool_object_concerns(block)) ? taken : prepare(set, block, objects, taken);
}

unsigned
hew_pool_group_take(struct hew_pool_set *set, unsigned number, void **objects, unsigned wanted)
{
    struct hew_pool_class *class = &set->classes[number];
    unsigned taken = class->declared == 0 ? 0 : take_of_block(set, class->fixed, objects, wanted);
    struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_acquire);
    while (taken == 0 && block != NULL) {
        if (atomic_load_explicit(&block->free, memory_order_relaxed) != 0) {
            taken = take_of_block(set, block, objects, wanted);
        }
        block = atomic_load_explicit(&block->next, memory_order_acquire);
    }
    return taken;
}

struct hew_pool_block *
hew_pool_group_block(const struct hew_pool_set *set, const char *function, const void *object)
{
    struct hew_pool_range *range = hew_pool_range_of((uintptr_t)object);
    if (HEW_UNLIKELY(range == NULL || range->set != set)) {
        hew_fatal(HEW_FATAL_pool_foreign, function, (uintptr_t)object,
            range != NULL ? "another set's" : "no pool's, and not the fallback's");
    }
    return hew_pool_range_block(range, (uintptr_t)object);
}

static HEW_COLD _Noreturn void
not_an_object(const struct hew_pool_block *block, const char *function, uintptr_t address, bool inside)
{
    char words[128];
    struct hew_text text;
    hew_text_begin(&text, words, sizeof words);
    hew_text_put(&text, inside ? "inside the " : "behind the last ");
    hew_text_put_unsigned(&text, block->stride);
    hew_text_put(&text, inside ? "-byte object at " : "-byte object of a pool");
    if (inside) {
        hew_text_put_hex(&text, block->address + hew_pool_block_number(block, address) * block->stride);
    }
    hew_fatal(HEW_FATAL_interior, function, address, words);
}

HEW_COLD _Noreturn void
hew_pool_group_twice(const struct hew_pool_block *block, const char *function, const void *object)
{
    char words[128];
    struct hew_text text;
    hew_text_begin(&text, words, sizeof words);
    hew_text_put(&text, "the ");
    hew_text_put_unsigned(&text, block->stride);
    hew_text_put(&text, "-byte object of a pool is free already");
    hew_fatal(HEW_FATAL_double_free, function, (uintptr_t)object, words);
}

/* The object's number in the block. */
static size_t
number_of(const struct hew_pool_block *block, const char *function, uintptr_t address)
{
    size_t number = hew_pool_block_number(block, address);
    if (HEW_UNLIKELY(number >= block->count || block->address + number * block->stride != address)) {
        not_an_object(block, function, address, number < block->count);
    }
    return number;
}

void
hew_pool_group_examine(const struct hew_pool_block *block, const char *function, const void *object)
{
    number_of(block, function, (uintptr_t)object);
    if (block->store == NULL && hew_pool_block_is_free(block, (uintptr_t)object)) {
        hew_pool_group_twice(block, function, object);
    }
}

/* The counts come first, so that they are never less than what can be taken. */
static void
give_batch(struct hew_pool_set *set, const char *function, const struct batch *batch)
{
    struct hew_pool_block *block = batch->block;
    if (block == NULL) {
        return;
    }
    hew_pool_grow_note_given(&set->classes[block->number], block, (size_t)__builtin_popcountll(batch->mask));
    if (HEW_UNLIKELY(!hew_pool_block_give(block, batch->word, batch->mask))) {
        size_t number = batch->word * 64 + (unsigned)__builtin_ctzll(batch->mask); /* one of them */
        hew_pool_group_twice(block, function, (void *)(block->address + number * block->stride));
    }
}

static void
give_stored(struct hew_pool_set *set, struct hew_pool_block *block, void *object)
{
    hew_pool_grow_note_given(&set->classes[block->number], block, 1);
    set->backing.give(block->store, &object, 1);
}

bool
hew_pool_group_give(struct hew_pool_set *set, const char *function, void *const *objects, unsigned count)
{
    struct batch batch = {NULL, 0, 0};
    struct hew_pool_range *range = NULL;
    unsigned number_of_size = 0;
    for (unsigned i = 0; i < count; i++) {
        uintptr_t address = (uintptr_t)objects[i];
        if (range == NULL || address - range->address >= range->size) {
            hew_pool_group_block(set, function, objects[i]);
            range = hew_pool_range_of(address);
        }
        struct hew_pool_block *block = hew_pool_range_block(range, address);
        size_t number = number_of(block, function, address);
        number_of_size = block->number;
        if (HEW_UNLIKELY(hew_pool_object_concerns(block))) {
            hew_pool_object_in(block, objects[i]);
        }
        if (HEW_UNLIKELY(block->store != NULL)) {
            give_stored(set, block, objects[i]);
            continue;
        }
        uint64_t bit = UINT64_C(1) << number % 64;
        if (block == batch.block && number / 64 == batch.word && (batch.mask & bit) == 0) {
            batch.mask |= bit;
            continue;
        }
        give_batch(set, function, &batch);
        batch = (struct batch){block, number / 64, bit};
    }
    give_batch(set, function, &batch);
    /* After the bits: who finds a pool wholly free by its count may not yet be able to claim it; the last giver can. */
    return atomic_load_explicit(&set->classes[number_of_size].whole, memory_order_relaxed) != 0;
}
