/* SPDX-License-Identifier: MIT */
#include "pool/object.h"

#include "os/fatal.h"

#include <string.h>

#define NO_SUM 0 /* the object has never been freed */

static size_t
bits_bytes(const struct hew_pool_class *class, size_t count)
{
    bool constructs = class->kind.construct != NULL || class->kind.destruct != NULL;
    return constructs ? hew_pool_block_words(count) * sizeof(uint64_t) : 0;
}

static size_t
sums_bytes(const struct hew_pool_set *set, size_t count)
{
    return set->options.check == HEW_POOL_CHECK_WRITES ? count * sizeof(uint64_t) : 0;
}

size_t
hew_pool_object_bytes(const struct hew_pool_set *set, const struct hew_pool_class *class, size_t count)
{
    return bits_bytes(class, count) + sums_bytes(set, count);
}

void
hew_pool_object_begin(const struct hew_pool_set *set, const struct hew_pool_class *class, struct hew_pool_block *block,
                      void *room)
{
    size_t bits = bits_bytes(class, block->count);
    block->built = bits == 0 ? NULL : room;
    block->sums = sums_bytes(set, block->count) == 0 ? NULL : (uint64_t *)((char *)room + bits);
}

/* Sums whole words: strides are multiples of 16.  Changing one word always changes the sum, because each step is
 * invertible. */
static uint64_t
sum_of(const struct hew_pool_block *block, const void *object)
{
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15);
    const char *bytes = object;
    for (size_t at = 0; at < block->stride; at += sizeof sum) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        sum = (sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
        sum ^= sum >> 32;
    }
    return sum == NO_SUM ? 1 : sum;
}

static void
verify(const struct hew_pool_block *block, const void *object)
{
    size_t number = hew_pool_block_number(block, (uintptr_t)object);
    if (block->sums != NULL && block->sums[number] != NO_SUM && block->sums[number] != sum_of(block, object)) {
        hew_fatal(HEW_FATAL_written, "hew_pool_malloc", (uintptr_t)object, "the program wrote to it after that");
    }
}

bool
hew_pool_object_out(struct hew_pool_set *set, struct hew_pool_block *block, void *object)
{
    size_t number = hew_pool_block_number(block, (uintptr_t)object);
    uint64_t bit = UINT64_C(1) << number % 64;
    verify(block, object);
    if (block->built == NULL || (atomic_load_explicit(&block->built[number / 64], memory_order_relaxed) & bit) != 0) {
        return true;
    }
    const struct hew_pool_kind *kind = &set->classes[block->number].kind;
    if (kind->construct != NULL && kind->construct(object, block->stride, kind->context) != 0) {
        return false;
    }
    atomic_fetch_or_explicit(&block->built[number / 64], bit, memory_order_relaxed);
    return true;
}

void
hew_pool_object_in(struct hew_pool_block *block, void *object)
{
    if (block->sums != NULL) {
        block->sums[hew_pool_block_number(block, (uintptr_t)object)] = sum_of(block, object);
    }
}

void
hew_pool_object_end(struct hew_pool_set *set, struct hew_pool_block *block, bool all_free)
{
    const struct hew_pool_kind *kind = &set->classes[block->number].kind;
    for (size_t number = 0; hew_pool_object_concerns(block) && number < block->count; number++) {
        void *object = (void *)(block->address + number * block->stride);
        if (all_free) {
            verify(block, object);
        }
        bool built = block->built != NULL &&
                     (atomic_load_explicit(&block->built[number / 64], memory_order_relaxed) >> number % 64 & 1) != 0;
        if (built && kind->destruct != NULL) {
            kind->destruct(object, block->stride, kind->context);
        }
    }
    if (block->built != NULL) {
        memset((void *)block->built, 0, hew_pool_block_words(block->count) * sizeof(uint64_t));
    }
    if (block->sums != NULL) {
        memset(block->sums, 0, block->count * sizeof *block->sums);
    }
}
