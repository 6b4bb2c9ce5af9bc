/* SPDX-License-Identifier: MIT */
#include "prof/hash.h"

#include "meta/memory.h"

#define SIZE_FIRST 64
#define SIZE_MOST ((size_t)1 << 20) /* buckets, in 8 MiB */

static struct hew_hash_link **
bucket_of(const struct hew_hash *table, uint64_t hash)
{
    return &table->buckets[(hash * UINT64_C(0xbf58476d1ce4e5b9)) >> 32 & (table->size - 1)];
}

static void
put(struct hew_hash *table, struct hew_hash_link *link)
{
    struct hew_hash_link **bucket = bucket_of(table, link->hash);
    link->next = *bucket;
    *bucket = link;
}

static void
grow(struct hew_hash *table)
{
    struct hew_hash bigger = {.size = table->size == 0 ? SIZE_FIRST : table->size * 2, .count = table->count};
    bigger.buckets = hew_meta_take(bigger.size * sizeof *bigger.buckets);
    if (bigger.buckets == NULL) {
        return;
    }
    for (size_t i = 0; i < table->size; i++) {
        struct hew_hash_link *next;
        for (struct hew_hash_link *link = table->buckets[i]; link != NULL; link = next) {
            next = link->next;
            put(&bigger, link);
        }
    }
    if (table->buckets != NULL) {
        hew_meta_give(table->buckets, table->size * sizeof *table->buckets);
    }
    *table = bigger;
}

bool
hew_hash_insert(struct hew_hash *table, struct hew_hash_link *link, uint64_t hash)
{
    if (table->count >= table->size && table->size < SIZE_MOST) {
        grow(table);
    }
    if (table->buckets == NULL) {
        return false;
    }
    link->hash = hash;
    put(table, link);
    table->count++;
    return true;
}

void
hew_hash_remove(struct hew_hash *table, struct hew_hash_link *link)
{
    struct hew_hash_link **place = bucket_of(table, link->hash);
    while (*place != link) {
        place = &(*place)->next;
    }
    *place = link->next;
    table->count--;
}

static struct hew_hash_link *
from(struct hew_hash_link *link, uint64_t hash)
{
    while (link != NULL && link->hash != hash) {
        link = link->next;
    }
    return link;
}

struct hew_hash_link *
hew_hash_first(const struct hew_hash *table, uint64_t hash)
{
    return table->size == 0 ? NULL : from(*bucket_of(table, hash), hash);
}

struct hew_hash_link *
hew_hash_next(const struct hew_hash_link *link)
{
    return from(link->next, link->hash);
}
