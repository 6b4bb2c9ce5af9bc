/* SPDX-License-Identifier: MIT */
/*
 * pool: memory for sizes that are known in advance.
 *
 * A *pool set* declares sizes with counts.  For each size it has a *fixed group* of that many objects, reserved when the
 * set is made and kept as long as it lives; when a fixed group is empty, *dynamic pools* are added, and go again when they
 * are wholly free and not needed.  A thread keeps some free objects of each size at hand; what lies below is lock-free but
 * for growth.
 *
 *     static const struct hew_pool_size sizes[] = {{64, 10000}, {256, 2000}, {1024, 500}};
 *     struct hew_pool_set *set = hew_pool_create(sizes, 3, NULL);
 *     void *object = hew_pool_malloc(set, 200);          an object of 256 bytes
 *     hew_pool_free(set, object);                         or free(object)
 *     hew_pool_destroy(set);
 *
 * Sizes     bytes.  A declared size is rounded up to a multiple of 16 (of the alignment, if more is asked for), and a request
 *           gets the smallest one that holds it; above the largest the fallback serves, usually malloc.  Objects have no
 *           header; they lie at a multiple of every power of two that divides their size, up to 16 KiB.
 * Objects   free(), realloc() and malloc_usable_size() work on a pool's objects; what realloc() moves, it moves to malloc.
 * Threads   every function may be called by any thread at any time, but for hew_pool_create() and hew_pool_destroy(): nobody
 *           else may use a set before the one has returned or after the other is called.  A thread that ends gives back
 *           what it has at hand.  In a fork's child every set works on; what the parent's other threads had at hand is free.
 * Errors    NULL and errno ENOMEM: neither pool nor fallback has memory; EINVAL: arguments that cannot be.
 * Misuse    ends the process with a message, as free() does: an object that is not the set's, an object that is freed
 *           twice (found at once only in part, as with free()), a set that has been destroyed (the last 64 of them are known).
 */
#ifndef HEW_POOL_H
#define HEW_POOL_H

#include "pool_lookup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes in one set, after those that round up to the same are one: a size's number takes one byte in every table that leads
 * from a request or an address to it, and two values of the byte say "none" and "too large". */
#define HEW_POOL_SIZES_MAX 254
/* Sets at one time: each thread that uses pools has a pointer for each. */
#define HEW_POOL_SETS_MAX 255

struct hew_pool_set;

/* Any order.  Sizes that round up to the same are one, with the sum of the counts.  A size of 0 cannot be; a count of 0 is a
 * size without a fixed group. */
struct hew_pool_size {
    size_t size;
    size_t count;
};

/*
 * Where a set's memory comes from, in pieces of whole multiples of 16 KiB at multiples of `alignment` (16 KiB or more).  The
 * memory must not be hew's own (malloc's), must be readable and writable, and may hold anything.  take() is called when the
 * set is made and, under a lock of the set, when it grows; give() gets each piece back whole.  Neither may use the set.
 */
struct hew_pool_source {
    void *(*take)(void *context, size_t size, size_t alignment); /* NULL: there is none */
    void (*give)(void *context, void *piece, size_t size);
    void *context;
};

/* What keeps the addresses of a fixed group's free objects, below what threads have at hand: without it a bitmap. */
struct hew_pool_backing {
    /* Room for `count` addresses of objects of `size` bytes; NULL: no memory. */
    void *(*begin)(void *context, size_t size, size_t count);
    /* Up to `wanted` of them; any thread. */
    size_t (*take)(void *store, void **objects, size_t wanted);
    /* There is always room; any thread.  In the beginning the set gives all objects. */
    void (*give)(void *store, void *const *objects, size_t count);
    void (*end)(void *store);
    void *context;
};

/* Who serves what is larger than every size, and what is beyond the bounds. */
struct hew_pool_fallback {
    void *(*take)(void *context, size_t size, size_t alignment); /* NULL: there is none */
    bool (*owns)(void *context, const void *object);
    void (*give)(void *context, void *object);
    size_t (*usable_size)(void *context, const void *object);
    void *context;
};

/*
 * Objects that stay initialised between uses.  `construct` is called before an object is handed out for the first time, some
 * objects ahead, and `destruct` before its memory leaves the set: any thread, no lock held.  0 is success; with anything else
 * the object counts as not there.  hew_pool_calloc() gets NULL and EINVAL where it meets a size with a constructor.
 */
struct hew_pool_kind {
    size_t size; /* one of those declared */
    int (*construct)(void *object, size_t size, void *context);
    void (*destruct)(void *object, size_t size, void *context);
    void *context;
};

enum hew_pool_beyond {
    HEW_POOL_BEYOND_FALLBACK, /* a bound is reached: the fallback serves */
    HEW_POOL_BEYOND_NULL, /* a bound is reached: NULL and ENOMEM; larger than every size still goes to the fallback */
};

enum hew_pool_check {
    HEW_POOL_CHECK_NOTHING, /* what costs nothing */
    HEW_POOL_CHECK_FREES,   /* every free: an address inside an object, a second free */
    HEW_POOL_CHECK_WRITES,  /* also: a free object that was written to, found when it is handed out again or goes */
};

/* All zeros, or NULL in place of a pointer to it, are the defaults. */
struct hew_pool_options {
    size_t alignment;  /* of every object, a power of two up to 2 MiB; 0: 16 */
    size_t most_pools; /* dynamic pools of a size, at most; 0: no bound */
    size_t most_bytes; /* of all pools of the set, the fixed groups included; 0: no bound */
    bool fixed_only;   /* there are no dynamic pools */
    enum hew_pool_beyond beyond;
    size_t dynamic_count; /* objects in a dynamic pool; 0: in proportion to the size's other pools */
    size_t at_hand; /* free objects of a size that a thread keeps, at most; 0: up to 128 or 64 KiB or a quarter of the
                               fixed group (an eighth with fixed_only); SIZE_MAX: none */
    uint64_t release_ms; /* a wholly free dynamic pool goes after so long even if nothing else is free; 0: 10000,
                               UINT64_MAX: never */
    bool touch;          /* the fixed groups' pages are in memory when the set has been made */
    enum hew_pool_check check;
    enum hew_pool_lookup_method lookup; /* how a request finds its size: HEW_POOL_LOOKUP_AUTO is the fastest */
    const struct hew_pool_source
        *source; /* NULL: hew's pages, with its decay and statistics.  Each struct is copied. */
    const struct hew_pool_backing *backing;   /* NULL: a bitmap */
    const struct hew_pool_fallback *fallback; /* NULL: hew's malloc */
    const struct hew_pool_kind *kinds;
    size_t kinds_count;
};

/* NULL and EINVAL: no size, a size of 0, too many sizes, size x count beyond the address space, options that cannot be;
 * ENOMEM: no memory for the fixed groups, or they alone are beyond most_bytes or the machine's memory and swap; EAGAIN: too
 * many sets. */
struct hew_pool_set *hew_pool_create(const struct hew_pool_size *sizes, size_t count,
                                     const struct hew_pool_options *options);

/* EBUSY: some objects are not free, and nothing has changed.  NULL is nothing. */
int hew_pool_destroy(struct hew_pool_set *set);

/* The same with all objects that are not free: nobody may use them any more. */
void hew_pool_destroy_with_objects(struct hew_pool_set *set);

/* Size 0 counts as 1. */
void *hew_pool_malloc(struct hew_pool_set *set, size_t size);
void *hew_pool_calloc(struct hew_pool_set *set, size_t count, size_t size);

/* The same object while it holds the size, else a new one, of the set.  `object` NULL: hew_pool_malloc().  Size 0 frees it and
 * returns NULL.  NULL otherwise: the object is as it was. */
void *hew_pool_realloc(struct hew_pool_set *set, void *object, size_t size);

/* An object of the set, or of its fallback; NULL is nothing.  With malloc as the fallback every object of malloc is that. */
void hew_pool_free(struct hew_pool_set *set, void *object);

/* Bytes that may be used of an object of the set or of its fallback. */
size_t hew_pool_usable_size(struct hew_pool_set *set, const void *object);

/* The usable size that a request gets; 0: the fallback's. */
size_t hew_pool_size_for(struct hew_pool_set *set, size_t size);

/* The set that an object belongs to; NULL: none.  Any address. */
struct hew_pool_set *hew_pool_of(const void *object);

/* What the calling thread has at hand goes back, and every wholly free dynamic pool goes.  Returns the pools that went. */
size_t hew_pool_trim(struct hew_pool_set *set);

/* One size.  Figures of other threads are a few operations old. */
struct hew_pool_figures {
    size_t size;             /* usable bytes */
    size_t fixed;            /* objects in the fixed group */
    size_t dynamic;          /* objects in dynamic pools */
    size_t in_use;           /* objects that are the program's */
    size_t at_hand;          /* free objects that threads keep */
    size_t pools;            /* dynamic pools */
    uint64_t grown, gone;    /* dynamic pools that were ever added and went */
    uint64_t fills, flushes; /* times that a thread took objects, and gave some back */
    uint64_t beyond;         /* requests that met a bound, or no memory */
};

struct hew_pool_set_figures {
    size_t sizes;
    size_t fixed_bytes, dynamic_bytes; /* of memory, touched or not */
    uint64_t larger;                   /* requests larger than every size */
};

/* Fills up to `room` of `figures`, smallest size first; returns how many sizes the set has.  Either pointer may be NULL. */
size_t hew_pool_read_figures(struct hew_pool_set *set, struct hew_pool_set_figures *total,
                             struct hew_pool_figures *figures, size_t room);

#ifdef __cplusplus
}
#endif

#endif
