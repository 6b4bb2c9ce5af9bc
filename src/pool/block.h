/* SPDX-License-Identifier: MIT */
/*
 * block: one run of equal objects with a bitmap of the free ones.  A block is a fixed group or a dynamic pool.
 *
 *     summary  1 = this word may have a free object            | 1 | 0 | 1 | ...
 *     words    1 = the object is free                | 0110.. | 0000.. | 1000.. | ...
 *
 * Threads allocate and free objects with one atomic instruction on a word.  There are no links, so there is no ABA
 * problem.  The summary is a hint without false zeros: a thread that makes a word nonzero sets its summary bit, and a
 * thread that clears the bit reads the word again.
 *
 * To remove a free dynamic pool, a thread allocates all of its objects (hew_pool_block_claim).  Other threads that
 * still read the block find no free object.  Blocks and their words therefore live as long as their set, and are
 * reused.
 *
 * Not here  which block: group.c.  Every interleaving of two or three threads: tests/model/pool_block_model.c.
 */
#ifndef HEW_POOL_BLOCK_H
#define HEW_POOL_BLOCK_H

#include "base/bits.h"

#include <stdatomic.h>

struct hew_pool_block {
    /* Written before the first object is allocated; the release and acquire of the words order it. */
    uintptr_t address;   /* of the first object */
    size_t stride;       /* distance between objects, and the usable size of each */
    uint64_t reciprocal; /* ceil(2^64 / stride): offset * reciprocal >> 64 is the object's index */
    size_t count;
    size_t bytes; /* of all objects */
    _Atomic uint64_t *words, *summary;
    _Atomic uint64_t *built; /* 1 = constructed; NULL: the size has no constructor */
    uint64_t *sums;  /* checksums of free objects with HEW_POOL_CHECK_WRITES, else NULL; owned with the object */
    void *store;     /* memory of the caller that replaces words and summary; else NULL */
    unsigned number; /* index of its size class in the set */
    bool fixed;
    bool there;                            /* has memory; guarded by the set's lock */
    struct hew_pool_recent *recent;        /* one for each processor; NULL: the block is too small */
    struct hew_pool_range *range;          /* of a dynamic pool; guarded by the set's lock */
    struct hew_pool_block *spare_below;    /* in the class's stack of spares; guarded by the set's lock */
    _Atomic(struct hew_pool_block *) next; /* dynamic pools of the size, oldest first; append-only */
    _Atomic uint64_t whole_ms;             /* when it was last seen wholly free: relaxed */
    /* Free objects of a dynamic pool or a store.  It lags behind the words, so it may briefly be below zero.  Relaxed.
     * A fixed group has no counter, to avoid contention: hew_pool_block_idle() counts its words. */
    _Atomic size_t free HEW_ALIGNED(HEW_CACHE_LINE);
    _Atomic size_t lowest; /* where threads without a home word start in the summary: relaxed, a hint */
};

HEW_INLINE size_t
hew_pool_block_words(size_t count)
{
    return (count + 63) / 64;
}

/* Whether the block maintains `free`. */
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

/* The index of an object; `address` must be inside the block. */
HEW_INLINE size_t
hew_pool_block_number(const struct hew_pool_block *block, uintptr_t address)
{
    return (size_t)((unsigned __int128)(address - block->address) * block->reciprocal >> 64);
}

/* Accepts any address inside the block and returns whether an object begins there.  The low 64 bits of offset *
 * reciprocal are below the reciprocal exactly when the offset is a multiple of the stride. */
HEW_INLINE bool
hew_pool_block_find(const struct hew_pool_block *block, uintptr_t address, size_t *number)
{
    unsigned __int128 product = (unsigned __int128)(address - block->address) * block->reciprocal;
    *number = (size_t)(product >> 64);
    return (uint64_t)product < block->reciprocal;
}

/* Mask of the bits of word `word` that have an object. */
HEW_INLINE uint64_t
hew_pool_block_mask(const struct hew_pool_block *block, size_t word)
{
    size_t left = block->count - word * 64;
    return left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

/* `room`: hew_pool_block_bytes(count) zeroed bytes.  No object is free at first. */
void hew_pool_block_begin(struct hew_pool_block *block, size_t stride, size_t count, void *room);

/* Allocates up to `wanted` objects, low addresses first, from word `home` on with wrap-around.  It lists them below
 * `end` in magazine order, from the top down: the first one is end[-1]. */
unsigned hew_pool_block_take(struct hew_pool_block *block, size_t home, void **end, unsigned wanted);

/* Allocates from one word only.  The summary bit stays set even if the word becomes empty, so a word that alternates
 * between empty and full does not disturb other threads. */
unsigned hew_pool_block_take_of_word(struct hew_pool_block *block, size_t word, void **end, unsigned wanted);

/* Number of free objects; other threads may change it at any time. */
size_t hew_pool_block_idle(const struct hew_pool_block *block);

/* Frees the objects of `mask` in word `word`.  Returns false on a double free; then the other objects are unchanged. */
bool hew_pool_block_give(struct hew_pool_block *block, size_t word, uint64_t mask);

/* Frees every object of a block that has no free one. */
void hew_pool_block_give_all(struct hew_pool_block *block);

/* Allocates every object.  Returns false, with nothing changed, if some are in use. */
bool hew_pool_block_claim(struct hew_pool_block *block);

/* Whether an object is free at this moment. */
bool hew_pool_block_is_free(const struct hew_pool_block *block, uintptr_t address);

#endif
