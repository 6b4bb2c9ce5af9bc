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

#include <string.h>

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

/* Written at boot. */
extern HEW_HIDDEN uint64_t hew_harden_key; /* of the canaries */

/* Draws the key of the canaries, and prepares the calling thread.  Called at boot, after the settings were read. */
void hew_harden_boot(void);

/* The calling thread, which has got `cache`, is checked from now on.  False without memory. */
bool hew_harden_birth(struct hew_cache *cache);

/* An object, or NULL, that was requested with `size` leaves for the program.  Returns it; with `full` perhaps another
 * one of the class.  `arena`: where the pool comes from. */
void *hew_harden_out(struct hew_arena *arena, void *object, size_t size);

/* An object comes back; `code` is what the address map shows.  False: a misuse, which a hook has received. */
bool hew_harden_back(const char *function, void *object, unsigned code);

/* With `full`: an object that has come back waits in the thread's quarantine.  False: it does not, free it.  Objects of
 * arenas that the program made do not wait, since these may be destroyed. */
bool hew_harden_wait(void *object, unsigned code);

/* Returns the usable bytes of an object with `usable` bytes: with `full` those that the program requested.  Reports an
 * object that is free, or an address where none begins; the process ends. */
size_t hew_harden_usable(const char *function, const void *object, size_t usable);

/* With `full`: the thread ends, and its quarantine and pools return to their slabs. */
void hew_harden_end(void);

/* Reports a write to the first word of a free object, which is about to leave.  Returns it. */
void *hew_harden_report_written(void *object) __attribute__((returns_nonnull));

HEW_INLINE uint64_t
hew_harden_canary(const void *object)
{
    return hew_harden_key ^ (uint64_t)(uintptr_t)object;
}

HEW_INLINE void
hew_harden_write_canary(void *object)
{
    uint64_t word = hew_harden_canary(object);
    memcpy(object, &word, sizeof word);
}

/* The mark of an object that comes back, where the map shows a small class.  NULL: it is not out, or none begins there. */
HEW_INLINE uint8_t *
hew_harden_mark_of_out(const void *object)
{
    uint8_t *mark = hew_mark_at((uintptr_t)object);
    return HEW_LIKELY(mark != NULL) && HEW_LIKELY(*mark == HEW_MARK_OUT) ? mark : NULL;
}

/* A region whose mark is BACK leaves for the program, with canaries. */
HEW_INLINE void *
hew_harden_small_out(void *object, uint8_t *mark)
{
    uint64_t word;
    memcpy(&word, object, sizeof word);
    memset(object, 0, sizeof word); /* the key stays ours */
    *mark = HEW_MARK_OUT;
    return HEW_LIKELY(word == hew_harden_canary(object)) ? object : hew_harden_report_written(object);
}

/* The short way of malloc with `check`: from the thread's magazine.  NULL: nothing has happened, take the slow path. */
HEW_INLINE void *
hew_harden_take(unsigned code)
{
    struct hew_cache *cache = hew_cache_self->checked;
    void *object = HEW_LIKELY(cache != NULL) ? hew_cache_pop(cache, code) : NULL;
    if (HEW_UNLIKELY(object == NULL)) {
        return NULL;
    }
    uint8_t *mark = hew_mark_known((uintptr_t)object);
    if (HEW_UNLIKELY(*mark != HEW_MARK_BACK)) {
        *mark = HEW_MARK_OUT;
        return object;
    }
    return hew_harden_small_out(object, mark);
}

/* The short way of free, likewise. */
HEW_INLINE bool
hew_harden_give(void *object, unsigned code)
{
    struct hew_cache *cache = HEW_LIKELY(code - 1 < HEW_CODE_SMALL_LAST) ? hew_cache_self->checked : NULL;
    uint8_t *mark = HEW_LIKELY(cache != NULL) ? hew_harden_mark_of_out(object) : NULL;
    if (HEW_UNLIKELY(mark == NULL)) {
        return false;
    }
    void **top = cache->top[code];
    if (HEW_UNLIKELY(top >= cache->limit[code])) {
        return false;
    }
    hew_harden_write_canary(object);
    *mark = HEW_MARK_BACK;
    *top = object;
    cache->top[code] = top + 1;
    return true;
}

#endif
