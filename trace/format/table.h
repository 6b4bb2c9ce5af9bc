/* SPDX-License-Identifier: MIT */
/*
 * table: objects by (thread, number), for tables that keep different things of each.
 *
 * Each entry begins with a key.  Linear probing, at most half full; entries behind a removed one move up.  Inline, and
 * each function gets the size of an entry as a constant, because a trace of 10^9 operations spends its time here.
 *
 * Owns      the entries, by malloc.
 */
#ifndef HEW_TRACE_FORMAT_TABLE_H
#define HEW_TRACE_FORMAT_TABLE_H

#include "format/reader.h"

#include <stdlib.h>
#include <string.h>

struct hew_trace_key {
    uint64_t number;
    uint32_t thread; /* plus 1; 0: the entry is empty */
    uint32_t value;  /* the caller's; 0 in a new entry */
};

struct hew_trace_table {
    unsigned char *entries;
    size_t mask; /* entries, less 1 */
    size_t count;
};

#define HEW_TRACE_TABLE_FIRST 1024 /* entries */

/* False: no memory. */
static inline bool
hew_trace_table_begin(struct hew_trace_table *table, size_t entry_size)
{
    *table = (struct hew_trace_table){.mask = HEW_TRACE_TABLE_FIRST - 1};
    table->entries = calloc(HEW_TRACE_TABLE_FIRST, entry_size);
    return table->entries != NULL;
}

static inline void
hew_trace_table_end(struct hew_trace_table *table)
{
    free(table->entries);
    *table = (struct hew_trace_table){0};
}

static inline struct hew_trace_key *
hew_trace_table_at(const struct hew_trace_table *table, size_t entry_size, size_t at)
{
    void *entry = table->entries + at * entry_size;

    return entry;
}

/* Where the search for an object begins.  `thread` is that of a key. */
static inline size_t
hew_trace_table_home(const struct hew_trace_table *table, uint32_t thread, uint64_t number)
{
    uint64_t mixed = (number + thread * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);

    return (size_t)(mixed ^ (mixed >> 32)) & table->mask;
}

/* The object's entry, or the empty one for it. */
static inline struct hew_trace_key *
hew_trace_table_find(const struct hew_trace_table *table, size_t entry_size, uint32_t thread, uint64_t number)
{
    for (size_t at = hew_trace_table_home(table, thread, number);; at = (at + 1) & table->mask) {
        struct hew_trace_key *key = hew_trace_table_at(table, entry_size, at);
        if (key->thread == 0 || (key->number == number && key->thread == thread)) {
            return key;
        }
    }
}

/* Whether the table must grow before another object is added. */
static inline bool
hew_trace_table_is_full(const struct hew_trace_table *table)
{
    return (table->count + 1) * 2 > table->mask + 1;
}

/* Doubles the table.  False: no memory, and nothing has changed. */
static inline bool
hew_trace_table_grow(struct hew_trace_table *table, size_t entry_size)
{
    struct hew_trace_table old = *table;
    unsigned char *more = calloc((old.mask + 1) * 2, entry_size);

    if (more == NULL) {
        return false;
    }
    table->entries = more;
    table->mask = old.mask * 2 + 1;
    for (size_t at = 0; at <= old.mask; at++) {
        struct hew_trace_key *key = hew_trace_table_at(&old, entry_size, at);
        if (key->thread != 0) {
            memcpy(hew_trace_table_find(table, entry_size, key->thread, key->number), key, entry_size);
        }
    }
    free(old.entries);
    return true;
}

/* The object's entry in a table that is not full: that of the same object, if it is there (in a damaged trace). */
static inline struct hew_trace_key *
hew_trace_table_add(struct hew_trace_table *table, size_t entry_size, struct hew_trace_object object)
{
    struct hew_trace_key *key = hew_trace_table_find(table, entry_size, object.thread + 1, object.number);

    if (key->thread == 0) {
        *key = (struct hew_trace_key){.number = object.number, .thread = object.thread + 1};
        table->count++;
    }
    return key;
}

/* Takes the object out, with a copy of its entry in `taken`.  False: it is not there. */
static inline bool
hew_trace_table_take(struct hew_trace_table *table, size_t entry_size, struct hew_trace_object object, void *taken)
{
    struct hew_trace_key *hole = hew_trace_table_find(table, entry_size, object.thread + 1, object.number), *key;
    size_t gap = (size_t)((unsigned char *)hole - table->entries) / entry_size, mask = table->mask;

    if (hole->thread == 0) {
        return false;
    }
    memcpy(taken, hole, entry_size);
    table->count--;
    for (size_t at = (gap + 1) & mask; (key = hew_trace_table_at(table, entry_size, at))->thread != 0;
         at = (at + 1) & mask) {
        size_t wanted = hew_trace_table_home(table, key->thread, key->number);
        if (((at - wanted) & mask) >= ((at - gap) & mask)) {
            memcpy(hew_trace_table_at(table, entry_size, gap), key, entry_size);
            gap = at;
        }
    }
    hew_trace_table_at(table, entry_size, gap)->thread = 0;
    return true;
}

/* Has the memory of the object's entry brought near, for a call that follows soon.  Always inline: GCC 12 drops calls of
 * a function that does nothing but this. */
__attribute__((always_inline)) static inline void
hew_trace_table_prefetch(const struct hew_trace_table *table, size_t entry_size, struct hew_trace_object object)
{
    size_t at = hew_trace_table_home(table, object.thread + 1, object.number);
    const unsigned char *entry = table->entries + at * entry_size;

    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry + entry_size - 1, 1);
}

#endif
