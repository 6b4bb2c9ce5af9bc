/* SPDX-License-Identifier: MIT */
/*
 * hew: memory cut to fit.
 *
 * A program needs no header to use hew: linked or preloaded, it takes the place of malloc, free and their kin, and of
 * C++'s operator new and delete.  This header is for a program that wants more of it: memory from a place of its own, an
 * alignment, a look at the figures.  Everything here works on the same objects as malloc and free.
 *
 * Units     sizes are bytes, times milliseconds.
 * Threads   every function may be called by any thread at any time, except where it says otherwise.
 * Errors    a function that returns int returns 0 or an error number of errno.h: EINVAL an argument that cannot be, ENOENT
 *           no such arena, cache or name, EPERM not to be read or written, EAGAIN no memory, EFAULT not now, or not with
 *           this arena.  A function that returns a pointer returns NULL and sets errno to ENOMEM or EINVAL.
 * Misuse    of an object (freed twice, not hew's, the wrong size) ends the process with a message, as free() does.
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
 * The version of the library that is in use, "MAJOR.MINOR.PATCH".  A static string; never NULL; any thread, any time.
 * Declare it weak to ask whether hew is there at all.
 */
const char *hew_version(void);

/* -- Places that memory comes from ---------------------------------------------------------------------------------- */

/* An arena: pages and objects apart from those of other arenas.  {0} is the calling thread's own. */
typedef struct {
    uint32_t number;
} hew_arena_id;

/* Objects kept at hand between free and the next alloc.  {0} is the calling thread's own. */
typedef struct {
    uint32_t number;
} hew_cache_id;

static const hew_cache_id HEW_NO_CACHE = {1}; /* straight from the arena, and straight back */

/* How an object is wanted.  All zeros, or NULL in place of a pointer to it: as malloc does it. */
struct hew_request {
    size_t alignment;   /* a power of two; 0: 16, or 8 for the smallest */
    bool zero;          /* reads as zeros; of a resized object what it gained, beyond its former usable size */
    hew_arena_id arena; /* without a cache of its own: past the thread's cache unless it is the thread's arena */
    hew_cache_id cache;
};

/* -- Objects -------------------------------------------------------------------------------------------------------- */

/* Size 0 counts as 1. */
void *hew_alloc(size_t size, const struct hew_request *request);

/* The same object with room for `size` bytes, moved if need be.  NULL: it is as it was.  `object` NULL: hew_alloc(). */
void *hew_resize(void *object, size_t size, const struct hew_request *request);

/* Without moving it: room for `least` bytes, and for up to `most` if that can be had.  Returns what may be used now: less
 * than `least` when it cannot grow. */
size_t hew_resize_in_place(void *object, size_t least, size_t most, const struct hew_request *request);

/* NULL is nothing.  Only the request's cache counts. */
void hew_free(void *object, const struct hew_request *request);

/* The same for a caller who knows what size and alignment the object was asked for with; quicker, and checked. */
void hew_free_sized(void *object, size_t size, const struct hew_request *request);

/* `count` objects of `size` bytes each into objects[].  Returns how many there are: fewer without memory. */
size_t hew_alloc_many(void **objects, size_t count, size_t size, const struct hew_request *request);

/* What may be used of an object; and what could be used of one that is asked for like this, 0 if it cannot be had. */
size_t hew_usable_size(const void *object);
size_t hew_size_for(size_t size, const struct hew_request *request);

/* -- Arenas --------------------------------------------------------------------------------------------------------- */

/* jemalloc's extent_hooks_t, of jemalloc/jemalloc.h. */
struct extent_hooks_s;

/* A new arena that no thread uses unless it is told to.  `hooks` map its memory, and must outlive it; NULL: hew's own. */
int hew_make_arena(hew_arena_id *arena, struct extent_hooks_s *hooks);

/* Frees every object of an arena that was made with hew_make_arena(), the arena itself, or both.  Nobody may use its
 * objects any more, or be at work in it; caches must not hold any.  EFAULT for other arenas. */
int hew_reset_arena(hew_arena_id arena);
int hew_destroy_arena(hew_arena_id arena);

/* The calling thread allocates from this arena from now on. */
int hew_use_arena(hew_arena_id arena);

/* Which arena an object lies in.  EINVAL: it is not hew's. */
int hew_arena_of(const void *object, hew_arena_id *arena);

/* Unused pages go back to the system: all at once, or as their time comes.  {0} is every arena. */
int hew_purge(hew_arena_id arena);

/* How long unused pages are kept: 0 not at all, -1 for ever.  {0} is every arena that is made from now on. */
int hew_set_decay(hew_arena_id arena, int64_t dirty_ms, int64_t muzzy_ms);

/* -- Caches --------------------------------------------------------------------------------------------------------- */

/* A cache that belongs to no thread.  The program sees to it that one thread at a time uses it. */
int hew_make_cache(hew_cache_id *cache);

/* Everything in it goes back to where it came from.  {0} is the calling thread's. */
int hew_flush_cache(hew_cache_id cache);
int hew_destroy_cache(hew_cache_id cache);

/* -- Figures -------------------------------------------------------------------------------------------------------- */

struct hew_figures {
    size_t allocated; /* in objects of the program or a cache */
    size_t cached;    /* of these, in caches */
    size_t active;    /* pages that hold objects */
    size_t dirty;     /* pages that are free and still there */
    size_t muzzy;     /* pages that are free and the system may take */
    size_t retained;  /* address space without pages */
    size_t mapped;    /* address space in use */
    size_t metadata;  /* hew's own data */
    size_t resident;  /* the most that can be in physical memory */
    uint64_t purged;  /* pages that have ever gone back to the system */
    unsigned arenas, threads;
};

/* As of one moment, from which on mallctl's "stats." names tell the same.  `size` is sizeof *figures: later versions may
 * have more. */
void hew_read_figures(struct hew_figures *figures, size_t size);

/* Bytes that the calling thread has ever allocated and freed, in usable sizes. */
struct hew_thread_figures {
    uint64_t allocated, freed;
};
struct hew_thread_figures hew_read_thread(void);

/* How full the pages around an object are: 1 object, never free, for a large one.  EINVAL: it is not hew's. */
struct hew_fill {
    size_t free, objects, bytes;
};
int hew_read_fill(const void *object, struct hew_fill *fill);

/* Whether a program that can move this object should: new place with HEW_NO_CACHE, then free with it.  Any address. */
bool hew_should_move(const void *object);

/* -- Everything else, by name: mallctl's names, docs/compatibility.md; settings are "opt.<name>" ------------------------ */

/* A number or a bool of any width; a text that belongs to hew; a name that is an action.  EINVAL: it is not that. */
int hew_read_number(const char *name, int64_t *number);
int hew_write_number(const char *name, int64_t number);
int hew_read_text(const char *name, const char **text);
int hew_write_text(const char *name, const char *text);
int hew_do(const char *name);

#ifdef __cplusplus
}
#endif

#endif
