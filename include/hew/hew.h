/* SPDX-License-Identifier: MIT */
/*
 * hew: memory cut to fit.
 *
 * A program needs no header to use hew: a linked or preloaded hew replaces malloc, free and related functions, and
 * C++'s operator new and delete.  This header adds arenas, explicit caches, alignment and statistics.  Its functions
 * work on the same objects as malloc and free.
 *
 * Units     Sizes are in bytes, times in milliseconds.
 * Threads   Any thread may call any function at any time, unless the comment on the function says otherwise.
 * Errors    A function that returns int returns 0 or an error number of errno.h.  EINVAL: an invalid argument.  ENOENT:
 *           no such arena, cache or name.  EPERM: the name cannot be read or written.  EAGAIN: out of memory.  EFAULT:
 *           not possible now, or not with this arena.  A function that returns a pointer returns NULL and sets errno to
 *           ENOMEM or EINVAL.
 * Misuse    Freeing an object twice, with a wrong size, or one that is not hew's ends the process with a message, as
 *           free() does.
 */
#ifndef HEW_HEW_H
#define HEW_HEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEW_VERSION_MAJOR 0
#define HEW_VERSION_MINOR 1
#define HEW_VERSION_PATCH 0

/*
 * Returns the version of the library in use, "MAJOR.MINOR.PATCH": a static string, never NULL.  Any thread may call it
 * at any time.  A program that declares it weak can test whether hew is present.
 */
const char *hew_version(void);

/* -- Arenas and caches --------------------------------------------------------------------------------------------- */

/* An arena: its pages and objects are separate from those of other arenas.  {0} is the calling thread's own arena. */
typedef struct {
    uint32_t number;
} hew_arena_id;

/* A cache of free objects for the next allocations.  {0} is the calling thread's own cache. */
typedef struct {
    uint32_t number;
} hew_cache_id;

static const hew_cache_id HEW_NO_CACHE = {1}; /* allocate from the arena and free to it, without a cache */

/* Options of a request.  All zeros, or a NULL pointer to it, means: as malloc. */
struct hew_request {
    size_t alignment; /* a power of two; 0: 16, or 8 for the smallest objects */
    bool zero;        /* the object reads as zeros; on resize only the bytes beyond the former usable size */
    /* Without `cache`, the thread's cache serves only if `arena` is the thread's own arena. */
    hew_arena_id arena;
    hew_cache_id cache;
};

/* -- Objects ------------------------------------------------------------------------------------------------------- */

/* A size of 0 is treated as 1. */
void *hew_alloc(size_t size, const struct hew_request *request);

/* Resizes an object to at least `size` bytes, moving it if necessary.  NULL: failed, and the object is unchanged.  If
 * `object` is NULL, the call is hew_alloc(). */
void *hew_resize(void *object, size_t size, const struct hew_request *request);

/* Resizes without moving: to at least `least` bytes, and up to `most` if possible.  Returns the usable size afterwards,
 * which is less than `least` if the object cannot grow. */
size_t hew_resize_in_place(void *object, size_t least, size_t most, const struct hew_request *request);

/* Does nothing for NULL.  Uses only the cache of the request. */
void hew_free(void *object, const struct hew_request *request);

/* Like hew_free(), for a caller that knows the requested size and alignment.  It is faster, and checks the size. */
void hew_free_sized(void *object, size_t size, const struct hew_request *request);

/* Allocates `count` objects of `size` bytes each into objects[]. Returns the number allocated, which is smaller only if
 * memory runs out. */
size_t hew_alloc_many(void **objects, size_t count, size_t size, const struct hew_request *request);

/* hew_usable_size() returns the usable size of an object.  hew_size_for() returns the usable size that such a request
 * would get, or 0 if the request is impossible. */
size_t hew_usable_size(const void *object);
size_t hew_size_for(size_t size, const struct hew_request *request);

/* -- Arenas -------------------------------------------------------------------------------------------------------- */

/* jemalloc's extent_hooks_t, of jemalloc/jemalloc.h. */
struct extent_hooks_s;

/* Creates an arena, which a thread uses only on request.  `hooks` map its memory and must outlive the arena.  NULL: hew
 * maps it. */
int hew_make_arena(hew_arena_id *arena, struct extent_hooks_s *hooks);

/* hew_reset_arena() frees all objects of an arena made by hew_make_arena().  hew_destroy_arena() also frees the arena.
 * No thread may use the objects any more or be working in the arena, and no cache may hold any of them.  EFAULT for any
 * other arena. */
int hew_reset_arena(hew_arena_id arena);
int hew_destroy_arena(hew_arena_id arena);

int hew_use_arena(hew_arena_id arena);

/* Finds the arena that owns an object.  EINVAL: the object is not hew's. */
int hew_arena_of(const void *object, hew_arena_id *arena);

/* Returns all unused pages to the system now.  {0} means every arena. */
int hew_purge(hew_arena_id arena);

/* Sets how long unused pages are kept: 0 not at all, -1 forever.  {0} sets the default of arenas created from now
 * on. */
int hew_set_decay(hew_arena_id arena, int64_t dirty_ms, int64_t muzzy_ms);

/* -- Caches -------------------------------------------------------------------------------------------------------- */

/* Creates a cache that belongs to no thread.  The program must ensure that only one thread at a time uses it. */
int hew_make_cache(hew_cache_id *cache);

/* hew_flush_cache() frees all cached objects to their owners.  {0} is the calling thread's cache. */
int hew_flush_cache(hew_cache_id cache);
int hew_destroy_cache(hew_cache_id cache);

/* -- Statistics ---------------------------------------------------------------------------------------------------- */

struct hew_figures {
    size_t allocated; /* bytes in objects that the program or a cache holds */
    size_t cached;    /* the part of `allocated` that caches hold */
    size_t active;    /* in pages that hold objects */
    size_t dirty;     /* in free pages that still have memory */
    size_t muzzy;     /* in free pages that the system may reclaim */
    size_t retained;  /* reserved address space without memory */
    size_t mapped;    /* address space in use */
    size_t metadata;  /* hew's own data */
    size_t resident;  /* upper bound of the physical memory in use */
    /* Bytes of pages that were returned to the system since the start. */
    uint64_t purged;
    unsigned arenas, threads;
};

/* Takes a snapshot, which mallctl's "stats." names report from then on too.  `size` is sizeof *figures: a later version
 * may have more fields. */
void hew_read_figures(struct hew_figures *figures, size_t size);

/* Total bytes that the calling thread has allocated and freed, counted in usable sizes. */
struct hew_thread_figures {
    uint64_t allocated, freed;
};
struct hew_thread_figures hew_read_thread(void);

/* Occupancy of the slab that holds an object.  A large object counts as 1 object, with none free.  EINVAL: the object
 * is not hew's. */
struct hew_fill {
    size_t free, objects, bytes;
};
int hew_read_fill(const void *object, struct hew_fill *fill);

/* Returns true if moving this object would help to free memory.  To move it, allocate a copy with HEW_NO_CACHE and free
 * the object with HEW_NO_CACHE.  Any address is valid. */
bool hew_should_move(const void *object);

/* -- Everything else, by name: mallctl's names, docs/compatibility.md; settings are "opt.<name>" ------------------- */

/* Access by name: a number or bool of any width; a text, which hew owns; or an action.  EINVAL: the name has another
 * type. */
int hew_read_number(const char *name, int64_t *number);
int hew_write_number(const char *name, int64_t number);
int hew_read_text(const char *name, const char **text);
int hew_write_text(const char *name, const char *text);
int hew_do(const char *name);

#ifdef __cplusplus
}
#endif

#endif
