/* SPDX-License-Identifier: MIT */
/*
 * block: one run of equal objects, with a bit for each that is free: a fixed group, or a dynamic pool.
 *
 *     summary  1 = this word may have a free object            | 1 | 0 | 1 | ...
 *     words    1 = the object is free                | 0110.. | 0000.. | 1000.. | ...
 *
 * Takers and givers of any number of threads meet in the words alone, each with one atomic instruction on a word, which
 * nothing can be mistaken for: there are no links that could come back with another meaning.  The summary is a hint that
 * never misses: who makes a word other than 0 sees to its bit, and who clears the bit looks at the word once more.
 *
 * A dynamic pool that is wholly free is removed by taking every object of it (hew_pool_block_claim): whoever still looks at
 * the block finds nothing there.  Blocks and their words therefore stay as long as their set, and serve again.
 *
 * Not here  which block: group.c.  Every interleaving of two or three threads: tests/model/pool_block_model.c.
 */
#ifndef HEW_POOL_BLOCK_H
#define HEW_POOL_BLOCK_H

#include "base/bits.h"

#include <stdatomic.h>

struct hew_pool_block {
    /* Written before an object of the block can be had; release and acquire of the words order it. */
    uintptr_t address;   /* of the first object */
    size_t stride;       /* from object to object, and what may be used of each */
    uint64_t reciprocal; /* ceil(2^64 / stride): offset * reciprocal >> 64 is the object's number */
    size_t count;
    size_t bytes; /* of all objects */
    _Atomic uint64_t *words, *summary;
    _Atomic uint64_t *built; /* 1 = constructed; NULL: the size has no constructor */
    uint64_t *sums;  /* what a free object held, with HEW_POOL_CHECK_WRITES; else NULL.  Whoever holds the object. */
    void *store;     /* the caller's, in place of words and summary; else NULL */
    unsigned number; /* of its size in the set */
    bool fixed;
    bool there;                            /* has memory: guarded by the set's lock */
    struct hew_pool_recent *recent;        /* for each processor; NULL: too small for that */
    struct hew_pool_range *range;          /* of a dynamic pool; likewise */
    struct hew_pool_block *spare_below;    /* in the class's stack; likewise */
    _Atomic(struct hew_pool_block *) next; /* dynamic pools of the size, the oldest first; only ever appended */
    _Atomic uint64_t whole_ms;             /* when it was last found wholly free: relaxed */
    /* Objects of a dynamic pool or a store: behind the words, so it may be "less than none" for a moment.  Relaxed.  A fixed
     * group has its words counted instead (hew_pool_block_idle): no thread need wait for a count that is seldom read. */
    _Atomic size_t free HEW_ALIGNED(HEW_CACHE_LINE);
    _Atomic size_t lowest; /* where in the summary to look first, for who has no home: relaxed, a hint */
};

HEW_INLINE size_t
hew_pool_block_words(size_t count)
{
    return (count + 63) / 64;
}

/* Whether `free` is kept. */
HEW_INLINE bool
hew_pool_block_counts(const struct hew_pool_block *block)
{
    return !block->fixed || block->store != NULL;
}

/* Bytes of the words and the summary of `count` objects. */
HEW_INLINE size_t
hew_pool_block_bytes(size_t count)
{
    size_t words = hew_pool_block_words(count);
    return (words + hew_pool_block_words(words)) * sizeof(uint64_t);
}

/* The object's number; `address` is in the block. */
HEW_INLINE size_t
hew_pool_block_number(const struct hew_pool_block *block, uintptr_t address)
{
    return (size_t)((unsigned __int128)(address - block->address) * block->reciprocal >> 64);
}

/* The same for an address that may be any in the block: whether an object begins there.  What is left of offset * reciprocal
 * below 2^64 is the object's number times less than stride for such an address, and at least the reciprocal for others. */
HEW_INLINE bool
hew_pool_block_find(const struct hew_pool_block *block, uintptr_t address, size_t *number)
{
    unsigned __int128 product = (unsigned __int128)(address - block->address) * block->reciprocal;
    *number = (size_t)(product >> 64);
    return (uint64_t)product < block->reciprocal;
}

/* All bits of word `word` that stand for an object. */
HEW_INLINE uint64_t
hew_pool_block_mask(const struct hew_pool_block *block, size_t word)
{
    size_t left = block->count - word * 64;
    return left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

/* `room`: hew_pool_block_bytes(count) of zeros.  No object is free yet. */
void hew_pool_block_begin(struct hew_pool_block *block, size_t stride, size_t count, void *room);

/* Up to `wanted` objects, low addresses first, from word `home` on and then once round.  They are listed below `end` as a magazine
 * has them, from the top down: the first one is end[-1]. */
unsigned hew_pool_block_take(struct hew_pool_block *block, size_t home, void **end, unsigned wanted);

/* The same from one word.  Its bit in the summary stays set though it may be empty now: a word that is emptied and filled in turn
 * costs nobody else anything. */
unsigned hew_pool_block_take_of_word(struct hew_pool_block *block, size_t word, void **end, unsigned wanted);

/* Free objects, as of now. */
size_t hew_pool_block_idle(const struct hew_pool_block *block);

/* The objects of `mask` in word `word` become free.  False, and nothing has changed for the others: one of them was. */
bool hew_pool_block_give(struct hew_pool_block *block, size_t word, uint64_t mask);

/* Every object becomes free: of a block of which none is. */
void hew_pool_block_give_all(struct hew_pool_block *block);

/* Takes every object.  False: some are not free, and nothing has changed. */
bool hew_pool_block_claim(struct hew_pool_block *block);

/* Whether an object is free: as of now. */
bool hew_pool_block_is_free(const struct hew_pool_block *block, uintptr_t address);

#endif
