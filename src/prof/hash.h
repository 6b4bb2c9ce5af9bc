/* SPDX-License-Identifier: MIT */
/*
 * hash: an intrusive hash table with 64-bit hashes.
 *
 * Promises  at most one entry a bucket on average; its own memory comes from meta/.  All zeros is an empty table.
 * Called    under the lock of the table's owner.
 */
#ifndef HEW_PROF_HASH_H
#define HEW_PROF_HASH_H

#include "base/compiler.h"

struct hew_hash_link {
    struct hew_hash_link *next;
    uint64_t hash;
};

struct hew_hash {
    struct hew_hash_link **buckets;
    size_t size; /* of buckets: 0 or a power of two */
    size_t count;
};

/* False without memory for a first bucket.  A table that cannot grow keeps working with longer chains. */
bool hew_hash_insert(struct hew_hash *table, struct hew_hash_link *link, uint64_t hash);

void hew_hash_remove(struct hew_hash *table, struct hew_hash_link *link);

/* The first entry with that hash, and the next one after `link`; NULL: none. */
struct hew_hash_link *hew_hash_first(const struct hew_hash *table, uint64_t hash);
struct hew_hash_link *hew_hash_next(const struct hew_hash_link *link);

/* Mixes one more word into a hash. */
HEW_INLINE uint64_t
hew_hash_mix(uint64_t hash, uint64_t word)
{
    uint64_t value = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ (value >> 29);
}

#endif
