/* SPDX-License-Identifier: MIT */
#include "pool/group.h"

#include "base/text.h"
#include "os/cpus.h"
#include "os/fatal.h"
#include "pool/grow.h"
#include "pool/object.h"
#include "pool/range.h"

#include <string.h>

/* The current processor, as an index among those that the set distinguishes. */
static unsigned
processor_of(const struct hew_pool_set *set)
{
    return hew_cpus_current() % set->processors;
}

static struct hew_pool_recent *
recent_of(struct hew_pool_block *block, unsigned processor)
{
    return block->recent == NULL ? NULL : &block->recent[processor];
}

/* Allocates from a caller's store. */
static unsigned
take_stored(struct hew_pool_set *set, struct hew_pool_block *block, void **end, unsigned wanted)
{
    unsigned taken = (unsigned)set->backing.take(block->store, end - wanted, wanted);
    memmove(end - taken, end - wanted, taken * sizeof *end);
    return taken;
}

/* Constructs the objects; frees those whose constructor fails. */
static unsigned
prepare(struct hew_pool_set *set, struct hew_pool_block *block, void **end, unsigned count)
{
    unsigned good = 0;
    for (unsigned i = 1; i <= count; i++) {
        void *object = end[-(int)i];
        if (hew_pool_object_out(set, block, object)) {
            end[-(int)++good] = object;
        } else {
            hew_pool_group_give(set, "hew_pool_malloc", &object, 1);
        }
    }
    return good;
}

/* Allocates from the words with the most recent frees first. */
static unsigned
take_by_bits(struct hew_pool_set *set, struct hew_pool_block *block, size_t home, void **end, unsigned wanted)
{
    struct hew_pool_recent *recent = recent_of(block, processor_of(set));
    unsigned taken = 0;
    for (size_t word; taken < wanted && recent != NULL && hew_pool_recent_top(recent, &word);) {
        taken += hew_pool_block_take_of_word(block, word, end - taken, wanted - taken);
        if (taken < wanted) {
            hew_pool_recent_pop(recent);
        }
    }
    return taken == wanted ? taken : taken + hew_pool_block_take(block, home, end - taken, wanted - taken);
}

static unsigned
take_of_block(struct hew_pool_set *set, struct hew_pool_block *block, size_t home, void **end, unsigned wanted)
{
    unsigned taken =
        block->store != NULL ? take_stored(set, block, end, wanted) : take_by_bits(set, block, home, end, wanted);
    if (taken == 0) {
        return 0;
    }
    hew_pool_grow_note_taken(&set->classes[block->number], block, taken);
    return HEW_LIKELY(!hew_pool_object_concerns(block)) ? taken : prepare(set, block, end, taken);
}

unsigned
hew_pool_group_take(struct hew_pool_set *set, unsigned number, size_t home, void **end, unsigned wanted)
{
    struct hew_pool_class *class = &set->classes[number];
    unsigned taken = class->declared == 0 ? 0 : take_of_block(set, class->fixed, home, end, wanted);
    struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_acquire);
    while (taken == 0 && block != NULL) {
        if (atomic_load_explicit(&block->free, memory_order_relaxed) != 0) {
            taken = take_of_block(set, block, 0, end, wanted);
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

/* The object's index in the block. */
static size_t
number_of(const struct hew_pool_block *block, const char *function, uintptr_t address)
{
    size_t number;
    bool inside = address - block->address < block->bytes;
    if (HEW_UNLIKELY(!inside || !hew_pool_block_find(block, address, &number))) {
        not_an_object(block, function, address, inside);
    }
    return number;
}

void
hew_pool_group_examine_place(const struct hew_pool_block *block, const char *function, const void *object)
{
    number_of(block, function, (uintptr_t)object);
}

void
hew_pool_group_examine(const struct hew_pool_block *block, const char *function, const void *object)
{
    number_of(block, function, (uintptr_t)object);
    if (block->store == NULL && hew_pool_block_is_free(block, (uintptr_t)object)) {
        hew_pool_group_twice(block, function, object);
    }
}

/* `recent`: NULL, or where to record the word; a word with fewer than four freed objects is not worth recording. */
HEW_INLINE void
give_word(struct hew_pool_block *block, struct hew_pool_recent *recent, const char *function, size_t word,
          uint64_t mask)
{
    uint64_t rest = mask & (mask - 1);
    if (rest != 0 && recent != NULL) {
        rest &= rest - 1;
        if ((rest & (rest - 1)) != 0) {
            hew_pool_recent_push(recent, word);
        }
    }
    if (HEW_UNLIKELY(!hew_pool_block_give(block, word, mask))) {
        size_t number = word * 64 + (unsigned)__builtin_ctzll(mask); /* one of the objects freed twice */
        hew_pool_group_twice(block, function, (void *)(block->address + number * block->stride));
    }
}

/* How many of the first objects are adjacent; at least 1, at most `most`. */
static HEW_NOINLINE unsigned
side_by_side(void *const *objects, unsigned count, unsigned most, size_t stride)
{
    unsigned side = 1;
    uintptr_t next = (uintptr_t)objects[0] + stride;
    most = count < most ? count : most;
    while (side < most && (uintptr_t)objects[side] == next) {
        next += stride;
        side++;
    }
    return side;
}

/* Frees the leading objects that lie in the block; the first one does.  Objects allocated together are usually freed
 * together, so those of one word are freed at once.  The caller has checked that an object begins at each address. */
static unsigned
give_run(struct hew_pool_block *block, struct hew_pool_recent *recent, const char *function, void *const *objects,
         unsigned count)
{
    size_t word = number_of(block, function, (uintptr_t)objects[0]) / 64;
    uint64_t mask = 0;
    unsigned given = 0;
    while (given < count && (uintptr_t)objects[given] - block->address < block->bytes) {
        size_t number = hew_pool_block_number(block, (uintptr_t)objects[given]);
        uint64_t bits = UINT64_C(1) << number % 64;
        unsigned run = 1;
        if (given + 1 < count && (uintptr_t)objects[given + 1] == (uintptr_t)objects[given] + block->stride) {
            run = side_by_side(objects + given, count - given, 64 - number % 64, block->stride);
            bits = UINT64_MAX >> (64 - run) << number % 64;
        }
        if (number / 64 != word || HEW_UNLIKELY((mask & bits) != 0)) {
            give_word(block, recent, function, word, mask);
            word = number / 64;
            mask = 0;
        }
        mask |= bits;
        given += run;
    }
    give_word(block, recent, function, word, mask);
    return given;
}

/* Frees one object of a block that records checksums, or that has a caller's store. */
static void
give_noted(struct hew_pool_set *set, struct hew_pool_block *block, const char *function, void *object)
{
    number_of(block, function, (uintptr_t)object);
    hew_pool_object_in(block, object);
    if (block->store == NULL) {
        give_run(block, NULL, function, &object, 1);
    } else {
        set->backing.give(block->store, &object, 1);
    }
}

bool
hew_pool_group_give(struct hew_pool_set *set, const char *function, void *const *objects, unsigned count)
{
    bool whole = false;
    unsigned processor = processor_of(set);
    for (unsigned given = 0, some; given < count; given += some) {
        struct hew_pool_block *block = hew_pool_group_block(set, function, objects[given]);
        struct hew_pool_class *class = &set->classes[block->number];
        some = 1;
        if (HEW_UNLIKELY(block->store != NULL || hew_pool_object_concerns(block))) {
            give_noted(set, block, function, objects[given]);
        } else {
            some = give_run(block, recent_of(block, processor), function, objects + given, count - given);
        }
        hew_pool_grow_note_given(class, block, some);
        whole = atomic_load_explicit(&class->whole, memory_order_relaxed) != 0;
    }
    return whole;
}
