/* SPDX-License-Identifier: MIT */
#include "pool/block.h"

void
hew_pool_block_begin(struct hew_pool_block *block, size_t stride, size_t count, void *room)
{
    block->stride = stride;
    block->count = count;
    block->bytes = count * stride;
    block->reciprocal = UINT64_MAX / stride + 1;
    block->words = room;
    block->summary = block->words + hew_pool_block_words(count);
}

/* The word has just become nonzero, so its summary bit must be set; often it is set already
 * (hew_pool_block_take_of_word).  A thread that clears the bit reads the word afterwards, and this thread reads the bit
 * after writing the word.  All four accesses are seq_cst, so one of the two threads sees the other's write. */
static void
announce(struct hew_pool_block *block, size_t word)
{
    size_t place = word / 64;
    uint64_t bit = UINT64_C(1) << word % 64;
    if ((atomic_load_explicit(&block->summary[place], memory_order_seq_cst) & bit) != 0) {
        return;
    }
    atomic_fetch_or_explicit(&block->summary[place], bit, memory_order_acq_rel);
    if (place < atomic_load_explicit(&block->lowest, memory_order_relaxed)) {
        atomic_store_explicit(&block->lowest, place, memory_order_relaxed);
    }
}

/* The word was seen to be 0.  A thread that frees into it now either sets the bit after this clears it, or has written
 * the word before this reads it again. */
static void
withdraw(struct hew_pool_block *block, size_t word)
{
    uint64_t bit = UINT64_C(1) << word % 64;
    atomic_fetch_and_explicit(&block->summary[word / 64], ~bit, memory_order_seq_cst);
    if (atomic_load_explicit(&block->words[word], memory_order_seq_cst) != 0) {
        atomic_fetch_or_explicit(&block->summary[word / 64], bit, memory_order_acq_rel);
    }
}

/* The lowest `wanted` set bits; `wanted` is more than 0.  Usually they are adjacent. */
static uint64_t
lowest_bits(uint64_t bits, unsigned wanted)
{
    uint64_t lowest = bits & -bits, run = wanted >= 64 ? UINT64_MAX : lowest * ((UINT64_C(1) << wanted) - 1);
    uint64_t rest = wanted >= 64 ? 0 : bits;
    if ((run & ~bits) == 0) {
        return bits & run;
    }
    while (rest != 0 && wanted-- > 0) {
        rest &= rest - 1;
    }
    return bits & ~rest;
}

/* Lists the objects of a word's bits below `end`, the lowest on top; the first object lies at `address`.  Returns how
 * many. */
static unsigned
list_objects(uintptr_t address, size_t stride, uint64_t bits, void **end)
{
    void **next = end;
    for (; (bits & (bits + (bits & -bits))) != 0; bits &= bits - 1) {
        *--next = (void *)(address + (unsigned)__builtin_ctzll(bits) * stride);
    }
    if (bits != 0) { /* the remaining objects are adjacent; often these are all */
        uintptr_t object = address + (unsigned)__builtin_ctzll(bits) * stride;
        uintptr_t last = address + (63 - (unsigned)__builtin_clzll(bits)) * stride;
        for (; object <= last; object += stride) {
            *--next = (void *)object;
        }
    }
    return (unsigned)(end - next);
}

/* Allocates up to `wanted` objects of a word.  Sets `*left` to the word's remaining free objects. */
static unsigned
take_and_list(struct hew_pool_block *block, size_t word, void **end, unsigned wanted, uint64_t *left)
{
    uint64_t seen = atomic_load_explicit(&block->words[word], memory_order_relaxed), pick = lowest_bits(seen, wanted);
    /* acquire: pairs with the release of the thread that freed the objects */
    uint64_t before = pick == 0 ? seen : atomic_fetch_and_explicit(&block->words[word], ~pick, memory_order_acq_rel);
    *left = before & ~pick;
    uintptr_t first =
        block->address + word * 64 * block->stride; /* read after the bits: the block may have been reused */
    return list_objects(first, block->stride, before & pick, end);
}

unsigned
hew_pool_block_take_of_word(struct hew_pool_block *block, size_t word, void **end, unsigned wanted)
{
    uint64_t left;
    return take_and_list(block, word, end, wanted, &left);
}

/* Allocates from the words of `among` below one summary word. */
static unsigned
take_below(struct hew_pool_block *block, size_t place, uint64_t among, void **end, unsigned wanted)
{
    uint64_t words = atomic_load_explicit(&block->summary[place], memory_order_acquire) & among;
    unsigned taken = 0;
    while (words != 0 && taken < wanted) {
        size_t word = place * 64 + (unsigned)__builtin_ctzll(words);
        uint64_t left;
        taken += take_and_list(block, word, end - taken, wanted - taken, &left);
        if (left == 0) {
            withdraw(block, word);
        }
        words &= words - 1;
    }
    return taken;
}

unsigned
hew_pool_block_take(struct hew_pool_block *block, size_t home, void **end, unsigned wanted)
{
    size_t words = hew_pool_block_words(block->count), places = hew_pool_block_words(words);
    size_t lowest = atomic_load_explicit(&block->lowest, memory_order_relaxed), first = lowest;
    size_t start = home == 0 ? lowest * 64 : home < words ? home : home % words, place = start / 64;
    uint64_t from = ~UINT64_C(0) << start % 64, among = from;
    unsigned taken = 0;
    for (size_t looked = 0; looked <= places && taken < wanted; looked++) {
        unsigned got = take_below(block, place, among, end - taken, wanted - taken);
        first = got != 0 && taken == 0 ? place : first;
        taken += got;
        place = place + 1 < places ? place + 1 : 0;
        among = looked + 1 < places ? ~UINT64_C(0) : ~from; /* the last step covers the words skipped at first */
    }
    if (home == 0 && first != lowest) {
        atomic_store_explicit(&block->lowest, first, memory_order_relaxed);
    }
    return taken;
}

size_t
hew_pool_block_idle(const struct hew_pool_block *block)
{
    size_t idle = 0;
    if (hew_pool_block_counts(block)) {
        return atomic_load_explicit(&block->free, memory_order_relaxed);
    }
    for (size_t word = 0; word < hew_pool_block_words(block->count); word++) {
        idle += hew_bits_count(atomic_load_explicit(&block->words[word], memory_order_relaxed));
    }
    return idle;
}

bool
hew_pool_block_give(struct hew_pool_block *block, size_t word, uint64_t mask)
{
    /* release: orders writes to the objects before their next use; seq_cst: see announce() */
    uint64_t before = atomic_fetch_or_explicit(&block->words[word], mask, memory_order_seq_cst);
    if (before == 0) {
        announce(block, word);
    }
    return (before & mask) == 0;
}

void
hew_pool_block_give_all(struct hew_pool_block *block)
{
    for (size_t word = 0; word < hew_pool_block_words(block->count); word++) {
        hew_pool_block_give(block, word, hew_pool_block_mask(block, word));
    }
}

bool
hew_pool_block_claim(struct hew_pool_block *block)
{
    size_t words = hew_pool_block_words(block->count), claimed = 0;
    while (claimed < words) {
        uint64_t whole = hew_pool_block_mask(block, claimed);
        if (!atomic_compare_exchange_strong_explicit(&block->words[claimed], &whole, 0, memory_order_acq_rel,
                                                     memory_order_relaxed)) {
            break;
        }
        claimed++;
    }
    bool all = claimed == words;
    while (!all && claimed > 0) {
        claimed--;
        hew_pool_block_give(block, claimed, hew_pool_block_mask(block, claimed));
    }
    return all;
}

bool
hew_pool_block_is_free(const struct hew_pool_block *block, uintptr_t address)
{
    size_t number = hew_pool_block_number(block, address);
    return (atomic_load_explicit(&block->words[number / 64], memory_order_relaxed) >> number % 64 & 1) != 0;
}
