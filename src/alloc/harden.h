/* SPDX-License-Identifier: MIT */
/*
 * harden: checks of each allocation and each free, with the setting hardening.
 *
 * With `check` each thread stands behind a front (cache/thread.h), so that every operation comes here.  The thread's
 * cache still serves it.
 *
 * With `full` each small object also has a tail behind the requested bytes.  A free zeroes the object, and puts it into
 * the thread's quarantine in place of the oldest one there.  A request swaps the region that it gets with a random one
 * of the thread's pool.
 *
 *     | requested bytes            | filled with 0xfb      | word: key, address, bytes filled |
 *     object                       + size                                         end of region
 *
 * Owns      the quarantine and the pools of each thread.
 * Promises  a second free, a free of an address inside an object or of foreign memory, and any use of a free object by
 *           realloc or malloc_usable_size end the process before they change anything.  A write to the first word of
 *           a free object is reported when the object is next allocated; with `full` a write anywhere in it, and a write to
 *           the tail when the object is freed.
 * Not here  the marks themselves: slab/mark.h.
 */
#ifndef HEW_ALLOC_HARDEN_H
#define HEW_ALLOC_HARDEN_H

#include "cache/cache.h"
#include "slab/mark.h"

#define HEW_HARDEN_WORD sizeof(uint64_t)

HEW_INLINE bool
hew_harden_is_full(void)
{
    return HEW_UNLIKELY(hew_options.hardening == HEW_HARDENING_FULL);
}

/* Bytes that an object of `size` requested bytes needs more. */
HEW_INLINE size_t
hew_harden_extra(size_t size)
{
    return hew_harden_is_full() && size <= HEW_SMALL_MAX ? HEW_HARDEN_WORD : 0;
}

/* Draws the key of the canaries.  Called at boot, after the settings were read. */
void hew_harden_boot(void);

/* Allocates an object of `code` that the thread's cache has at hand.  NULL: take the slow path, always with
 * `full`. */
void *hew_harden_take(unsigned code);

/* An object, or NULL, that was requested with `size` leaves for the program.  Returns it; with `full` perhaps another
 * one of the class.  `arena`: where the pool comes from. */
void *hew_harden_out(struct hew_arena *arena, void *object, size_t size);

/* An object comes back; `code` is what the address map shows.  False: a misuse, which a hook has received. */
bool hew_harden_back(const char *function, void *object, unsigned code);

/* The same for free(), which frees the object that this returns; NULL: nothing is left to do.  With `full` that is
 * another one, which has waited in the quarantine. */
void *hew_harden_free(const char *function, void *object, unsigned code);

/* Returns the usable bytes of an object with `usable` bytes: with `full` those that the program requested.  Reports an
 * object that is free, as hew_harden_look() does. */
size_t hew_harden_usable(const char *function, const void *object, size_t usable);

/* With `full`: the thread ends, and its quarantine and pools return to their slabs. */
void hew_harden_end(void);

/* Reports a small or cached object that is free, or an address where none begins, when `function` asks about it. */
void hew_harden_look(const char *function, const void *object);

#endif
