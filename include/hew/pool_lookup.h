/* SPDX-License-Identifier: MIT */
/*
 * pool_lookup: finds the smallest declared size that holds a request.
 *
 * A table lists the declared sizes: ascending, all different, none 0, from 1 to HEW_POOL_LOOKUP_MOST of them.  The
 * program owns the table and must not change it while a lookup uses it.  The caller also provides the memory for the
 * lookup's own data.  Nothing here allocates or locks, and nothing changes after hew_pool_lookup_prepare(), so any
 * number of threads may search.
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

/* The tables below store an index in two bytes; the index after the last one means "none". */
#define HEW_POOL_LOOKUP_MOST 65535u

/*
 * Search methods.
 *
 * MIDPOINT       Binary search: log2(count) steps in every table.
 * INTERPOLATION  Tries the position where the size would be if the table were even.  One or two steps in an even table,
 *                up to `count` in any other.
 * HYBRID         Does both in each step and keeps the third that holds the size.
 * FLAT           Has one entry for each interval of sizes, all equally wide.  One load is enough, unless the table is
 *                too uneven: then it searches the few sizes of an interval.
 * DOUBLING       Like FLAT, with a separate interval width for each power of two.  Its tables are small for sizes from
 *                bytes to gibibytes.
 */
enum hew_pool_lookup_method {
    HEW_POOL_LOOKUP_AUTO, /* the fastest for this table */
    HEW_POOL_LOOKUP_MIDPOINT,
    HEW_POOL_LOOKUP_INTERPOLATION,
    HEW_POOL_LOOKUP_HYBRID,
    HEW_POOL_LOOKUP_FLAT,
    HEW_POOL_LOOKUP_DOUBLING
};

/* Position of the entries for sizes from 2^e + 1 to 2^(e + 1). */
struct hew_pool_lookup_doubling {
    uint32_t first;
    uint32_t shift;
};

/* hew_pool_lookup_prepare() fills it in; read-only for the program. */
struct hew_pool_lookup {
    size_t direct_end; /* below this size an entry is the final index; 0: never */
    const uint16_t *entries;
    size_t round;
    unsigned shift;
    unsigned count;
    const size_t *sizes;
    const struct hew_pool_lookup_doubling *doublings;
    enum hew_pool_lookup_method method; /* the method in use, never AUTO */
};

/* Returns the bytes that hew_pool_lookup_prepare() needs for this table and method.  0: none, or the table or method is
 * invalid. */
size_t hew_pool_lookup_room(const size_t *sizes, unsigned count, enum hew_pool_lookup_method method);

/*
 * `room` must be aligned as by malloc and must live as long as the lookup; NULL if no memory is needed.  Returns 0,
 * EINVAL for an invalid table or method, or ENOSPC if `room` is too small.
 */
int hew_pool_lookup_prepare(struct hew_pool_lookup *lookup, const size_t *sizes, unsigned count,
                            enum hew_pool_lookup_method method, void *room, size_t room_size);

/* The three methods that need no memory.  They accept any table and return the same index as hew_pool_lookup_find(). */
unsigned hew_pool_lookup_by_midpoint(const size_t *sizes, unsigned count, size_t size);
unsigned hew_pool_lookup_by_interpolation(const size_t *sizes, unsigned count, size_t size);
unsigned hew_pool_lookup_by_hybrid(const size_t *sizes, unsigned count, size_t size);

/* The part of hew_pool_lookup_find() that is not inline. */
unsigned hew_pool_lookup_search(const struct hew_pool_lookup *lookup, size_t size);

/* Returns the index of the smallest size of the table that is at least `size`, or the count if there is none. */
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
