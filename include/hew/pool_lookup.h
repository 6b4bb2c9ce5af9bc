/* SPDX-License-Identifier: MIT */
/*
 * pool_lookup: from a size to the smallest declared size that holds it.
 *
 * A table is the declared sizes: ascending, no two equal, none 0, from 1 to HEW_POOL_LOOKUP_MOST of them, any values.  The
 * program owns it; it must stay as it is while a look-up uses it.  What a look-up needs beside it lies in room that the
 * caller brings: nothing here allocates, locks, or changes after it is prepared, so any number of threads may find.
 *
 *     size_t room_size = hew_pool_lookup_room(sizes, count, HEW_POOL_LOOKUP_AUTO);
 *     hew_pool_lookup_prepare(&lookup, sizes, count, HEW_POOL_LOOKUP_AUTO, room, room_size);
 *     unsigned index = hew_pool_lookup_find(&lookup, 100);   // sizes[index] >= 100; count: none is that large
 */
#ifndef HEW_POOL_LOOKUP_H
#define HEW_POOL_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An index takes two bytes in the tables below, and the one after the last means "none". */
#define HEW_POOL_LOOKUP_MOST 65535u

/*
 * How to look.  MIDPOINT halves what is left: as good in every table, log2(count) steps.  INTERPOLATION looks where the size
 * would be if the table were even: one or two steps if it is, up to `count` if it is not.  HYBRID does both in each step
 * and keeps the third that holds the size.  FLAT has an entry for each stretch of sizes, all equally wide: one load, and
 * a search among the few sizes of a stretch where the table is too uneven for that.  DOUBLING is FLAT with a width of its
 * own from each power of two to the next: small tables for sizes from bytes to gibibytes.
 */
enum hew_pool_lookup_method {
    HEW_POOL_LOOKUP_AUTO, /* the fastest for this table */
    HEW_POOL_LOOKUP_MIDPOINT,
    HEW_POOL_LOOKUP_INTERPOLATION,
    HEW_POOL_LOOKUP_HYBRID,
    HEW_POOL_LOOKUP_FLAT,
    HEW_POOL_LOOKUP_DOUBLING
};

/* Where the entries for sizes from 2^e + 1 to 2^(e + 1) are. */
struct hew_pool_lookup_doubling {
    uint32_t first;
    uint32_t shift;
};

/* Filled in by hew_pool_lookup_prepare(), for reading only. */
struct hew_pool_lookup {
    size_t direct_end; /* below this size an entry is the answer; 0: never */
    const uint16_t *entries;
    size_t round;
    unsigned shift;
    unsigned count;
    const size_t *sizes;
    const struct hew_pool_lookup_doubling *doublings;
    enum hew_pool_lookup_method method; /* the one in use: never AUTO */
};

/* Bytes that hew_pool_lookup_prepare() wants for this table and method; 0 if none, or if there cannot be such a look-up. */
size_t hew_pool_lookup_room(const size_t *sizes, unsigned count, enum hew_pool_lookup_method method);

/*
 * `room` must stay as long as the look-up, aligned as malloc aligns; NULL if no room is wanted.  Returns 0, EINVAL for a
 * table or method that cannot be, ENOSPC for too little room.
 */
int hew_pool_lookup_prepare(struct hew_pool_lookup *lookup, const size_t *sizes, unsigned count,
                            enum hew_pool_lookup_method method, void *room, size_t room_size);

/* The three that need no room, for any table; the same answer as hew_pool_lookup_find(). */
unsigned hew_pool_lookup_by_midpoint(const size_t *sizes, unsigned count, size_t size);
unsigned hew_pool_lookup_by_interpolation(const size_t *sizes, unsigned count, size_t size);
unsigned hew_pool_lookup_by_hybrid(const size_t *sizes, unsigned count, size_t size);

/* What hew_pool_lookup_find() does where it is not inline. */
unsigned hew_pool_lookup_search(const struct hew_pool_lookup *lookup, size_t size);

/* The index of the smallest size of the table that is at least `size`; its count when there is none. */
static inline unsigned
hew_pool_lookup_find(const struct hew_pool_lookup *lookup, size_t size)
{
    if (__builtin_expect(size < lookup->direct_end, 1)) {
        return lookup->entries[(size + lookup->round) >> lookup->shift];
    }
    return hew_pool_lookup_search(lookup, size);
}

#ifdef __cplusplus
}
#endif

#endif
