/* SPDX-License-Identifier: MIT */
/*
 * pool: memory for sizes that are known in advance.
 *
 * A *pool set* declares sizes with counts.  Each size has a *fixed group* of that many objects, reserved when the set
 * is created and kept as long as the set lives.  When a fixed group is empty, the set adds *dynamic pools*; it removes
 * one that is entirely free and not needed.  Each thread caches some free objects of each size.  Below the thread
 * caches the set is lock-free, except when it grows.
 *
 *     static const struct hew_pool_size sizes[] = {{64, 10000}, {256, 2000}, {1024, 500}};
 *     struct hew_pool_set *set = hew_pool_create(sizes, 3, NULL);
 *     void *object = hew_pool_malloc(set, 200);          an object of 256 bytes
 *     hew_pool_free(set, object);                         or free(object)
 *     hew_pool_destroy(set);
 *
 * Sizes     In bytes.  A declared size is rounded up to a multiple of 16, or of the alignment if that is larger.  A
 *           request gets the smallest size that holds it.  The fallback, usually malloc, serves requests above the
 *           largest size.  Objects have no header.  An object is aligned to every power of two, up to 16 KiB, that
 *           divides its size.
 * Objects   free(), realloc() and malloc_usable_size() accept a pool's objects.  If realloc() must move an object, it
 *           moves it to malloc.
 * Threads   Any thread may call any function at any time, with two exceptions: no other thread may use a set before
 *           hew_pool_create() has returned, or after hew_pool_destroy() is called.  A thread that ends frees its cached
 *           objects.  In the child of a fork every set continues to work, and the objects that the parent's other
 *           threads had cached are free.
 * Errors    NULL and errno ENOMEM: neither the pool nor the fallback has memory.  NULL and errno EINVAL: invalid
 *           arguments.
 * Misuse    ends the process with a message, as free() does: an object that is not the set's; an object that is freed
 *           twice (detected immediately only in part, as with free()); a set that has been destroyed (the last 64 are
 *           remembered).
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

/* Maximum number of sizes in one set, after sizes that round up to the same value are merged.  The lookup tables store
 * a size's index in one byte, and two values of that byte mean "none" and "too large". */
#define HEW_POOL_SIZES_MAX 254
/* Maximum number of sets at one time: each thread that uses pools has a pointer for each. */
#define HEW_POOL_SETS_MAX 255

struct hew_pool_set;

/* In any order.  Sizes that round up to the same value are merged, and their counts added.  A size of 0 is invalid.  A
 * count of 0 declares a size without a fixed group. */
struct hew_pool_size {
    size_t size;
    size_t count;
};

/*
 * Source of a set's memory.  Each piece is a multiple of 16 KiB long and aligned to `alignment`, which is 16 KiB or
 * more.  The memory must not come from hew's malloc, must be readable and writable, and may have any contents.  The set
 * calls take() when it is created and, holding one of its locks, when it grows.  It returns each piece whole to give().
 * Neither function may use the set.
 */
struct hew_pool_source {
    void *(*take)(void *context, size_t size, size_t alignment); /* NULL: no memory */
    void (*give)(void *context, void *piece, size_t size);
    void *context;
};

/* Stores the addresses of a fixed group's free objects, below the thread caches.  The default is a bitmap. */
struct hew_pool_backing {
    /* Creates a store for `count` addresses of objects of `size` bytes.  NULL: no memory. */
    void *(*begin)(void *context, size_t size, size_t count);
    /* Removes up to `wanted` addresses and returns how many.  Any thread may call it. */
    size_t (*take)(void *store, void **objects, size_t wanted);
    /* Adds addresses; there is always space.  Any thread may call it.  At the start the set adds all objects. */
    void (*give)(void *store, void *const *objects, size_t count);
    void (*end)(void *store);
    void *context;
};

/* Allocator for requests above the largest size, and for requests beyond a limit of the set. */
struct hew_pool_fallback {
    void *(*take)(void *context, size_t size, size_t alignment); /* NULL: no memory */
    bool (*owns)(void *context, const void *object);
    void (*give)(void *context, void *object);
    size_t (*usable_size)(void *context, const void *object);
    void *context;
};

/*
 * Objects that stay initialised between uses.  The set calls `construct` some objects ahead, before it first hands out
 * an object.  It calls `destruct` before the object's memory leaves the set.  Any thread may make these calls, with no
 * lock held.  0 means success; after any other result the set treats the object as absent.  hew_pool_calloc() returns
 * NULL with EINVAL for a size that has a constructor.
 */
struct hew_pool_kind {
    size_t size; /* one of the declared sizes */
    int (*construct)(void *object, size_t size, void *context);
    void (*destruct)(void *object, size_t size, void *context);
    void *context;
};

enum hew_pool_beyond {
    HEW_POOL_BEYOND_FALLBACK, /* at a limit the fallback serves */
    /* At a limit: NULL and ENOMEM.  Requests above the largest size still go to the fallback. */
    HEW_POOL_BEYOND_NULL,
};

enum hew_pool_check {
    HEW_POOL_CHECK_NOTHING, /* only the checks that cost nothing */
    HEW_POOL_CHECK_FREES,   /* each free: an address inside an object, a second free */
    HEW_POOL_CHECK_WRITES,  /* also a write to a free object, detected when the object is reused or leaves */
};

/* All zeros, or a NULL pointer to it, means the defaults. */
struct hew_pool_options {
    size_t alignment;  /* of every object: a power of two up to 2 MiB; 0: 16 */
    size_t most_pools; /* maximum number of dynamic pools of a size; 0: no limit */
    size_t most_bytes; /* maximum bytes of all pools of the set, fixed groups included; 0: no limit */
    bool fixed_only;   /* no dynamic pools */
    enum hew_pool_beyond beyond;
    size_t dynamic_count; /* objects in a dynamic pool; 0: in proportion to the size's other pools */
    /* Maximum number of free objects of a size that a thread caches.  0: up to 128, or 64 KiB, or a quarter of the
     * fixed group (an eighth with fixed_only).  SIZE_MAX: none. */
    size_t at_hand;
    /* Time after which an entirely free dynamic pool is removed even if nothing else is free.  0: 10000.  UINT64_MAX:
     * never. */
    uint64_t release_ms;
    bool touch; /* hew_pool_create() brings the fixed groups' pages into memory */
    enum hew_pool_check check;
    enum hew_pool_lookup_method lookup; /* how a request finds its size; HEW_POOL_LOOKUP_AUTO is the fastest */
    /* NULL: hew's pages, with its decay and statistics.  hew_pool_create() copies each struct. */
    const struct hew_pool_source *source;
    const struct hew_pool_backing *backing;   /* NULL: a bitmap */
    const struct hew_pool_fallback *fallback; /* NULL: hew's malloc */
    const struct hew_pool_kind *kinds;
    size_t kinds_count;
};

/* Returns NULL and sets errno on failure.  EINVAL: no size, a size of 0, too many sizes, size x count beyond the
 * address space, or invalid options.  ENOMEM: no memory for the fixed groups, or the fixed groups alone exceed
 * most_bytes or the machine's memory and swap.  EAGAIN: too many sets. */
struct hew_pool_set *hew_pool_create(const struct hew_pool_size *sizes, size_t count,
                                     const struct hew_pool_options *options);

/* Returns EBUSY and changes nothing if some objects are not free.  Does nothing for NULL. */
int hew_pool_destroy(struct hew_pool_set *set);

/* Like hew_pool_destroy(), but also frees all objects in use: no thread may use them any more. */
void hew_pool_destroy_with_objects(struct hew_pool_set *set);

/* A size of 0 is treated as 1. */
void *hew_pool_malloc(struct hew_pool_set *set, size_t size);
void *hew_pool_calloc(struct hew_pool_set *set, size_t count, size_t size);

/* Returns the same object if it holds `size`, otherwise a new object of the set.  If `object` is NULL, the call is
 * hew_pool_malloc().  A size of 0 frees the object and returns NULL.  Any other NULL means failure, and the object is
 * unchanged. */
void *hew_pool_realloc(struct hew_pool_set *set, void *object, size_t size);

/* Frees an object of the set or of its fallback; does nothing for NULL.  If the fallback is malloc, any object of
 * malloc is valid. */
void hew_pool_free(struct hew_pool_set *set, void *object);

/* Returns the usable bytes of an object of the set or of its fallback. */
size_t hew_pool_usable_size(struct hew_pool_set *set, const void *object);

/* Returns the usable size that a request gets; 0: the fallback serves it. */
size_t hew_pool_size_for(struct hew_pool_set *set, size_t size);

/* Returns the set that owns an object; NULL: none.  Any address is valid. */
struct hew_pool_set *hew_pool_of(const void *object);

/* Frees the objects that the calling thread has cached, and removes every entirely free dynamic pool.  Returns the
 * number of pools removed. */
size_t hew_pool_trim(struct hew_pool_set *set);

/* Statistics of one size.  The figures of other threads lag by a few operations. */
struct hew_pool_figures {
    size_t size;             /* usable bytes */
    size_t fixed;            /* objects in the fixed group */
    size_t dynamic;          /* objects in dynamic pools */
    size_t in_use;           /* objects that the program uses */
    size_t at_hand;          /* free objects in thread caches */
    size_t pools;            /* dynamic pools */
    uint64_t grown, gone;    /* dynamic pools added and removed since the start */
    uint64_t fills, flushes; /* refills and flushes of thread caches */
    uint64_t beyond;         /* requests that reached a limit, or found no memory */
};

struct hew_pool_set_figures {
    size_t sizes;
    size_t fixed_bytes, dynamic_bytes; /* memory, touched or not */
    uint64_t larger;                   /* requests above the largest size */
};

/* Writes up to `room` elements of `figures`, smallest size first.  Returns the number of sizes of the set.  Either
 * pointer may be NULL. */
size_t hew_pool_read_figures(struct hew_pool_set *set, struct hew_pool_set_figures *total,
                             struct hew_pool_figures *figures, size_t room);

#ifdef __cplusplus
}
#endif

#endif
