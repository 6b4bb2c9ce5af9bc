/* SPDX-License-Identifier: MIT */
/* harden: see harden.h.  Only processes with hardening:check or full run this code. */
#include "alloc/harden.h"

#include "alloc/fill.h"
#include "os/process.h"
#include "slab/describe.h"
#include "slab/large.h"

#include <string.h>

static uint64_t key;  /* of the canaries; written at boot */
static bool canaries; /* junk and zero write to free objects, and so exclude canaries */

void
hew_harden_boot(void)
{
    key = hew_os_random_seed() | 1;
    canaries = !hew_fill_wanted();
}

static uint64_t
canary_of(const void *object)
{
    return key ^ (uint64_t)(uintptr_t)object;
}

/* Reports a write to a free region. */
static HEW_COLD HEW_NOINLINE void
report_written(const void *object)
{
    hew_misuse(HEW_FATAL_written, "malloc", (uintptr_t)object, "the program wrote to its first word after that");
}

/* A region leaves for the program. */
HEW_INLINE void *
small_out(void *object, unsigned code)
{
    uint8_t *mark = hew_mark_at((uintptr_t)object, code);
    if (HEW_UNLIKELY(mark == NULL)) {
        hew_describe_and_end("malloc", (uintptr_t)object);
    }
    if (HEW_LIKELY(*mark == HEW_MARK_BACK) && HEW_LIKELY(canaries)) {
        uint64_t word;
        memcpy(&word, object, sizeof word);
        if (HEW_UNLIKELY(word != canary_of(object))) {
            report_written(object);
        }
        memset(object, 0, sizeof word); /* the key stays ours */
    }
    *mark = HEW_MARK_OUT;
    return object;
}

void *
hew_harden_out(void *object)
{
    unsigned code = object == NULL ? HEW_CODE_NONE : hew_map_code((uintptr_t)object);
    if (code == HEW_CODE_NONE || code > HEW_CODE_CACHED_LAST) {
        return object;
    }
    if (code > HEW_CODE_SMALL_LAST) {
        hew_map_extent((uintptr_t)object)->large.back = false;
        return object;
    }
    return small_out(object, code);
}

/* The thread's cache, if nothing but its magazines needs to know of an operation. */
HEW_INLINE struct hew_cache *
plain_cache(void)
{
    struct hew_cache *cache = hew_cache_is_real(hew_cache_self) ? hew_cache_self->real : NULL;
    return HEW_LIKELY(cache != NULL) && HEW_LIKELY(cache->live == NULL) && HEW_LIKELY(canaries) ? cache : NULL;
}

void *
hew_harden_take(unsigned code)
{
    struct hew_cache *cache = plain_cache();
    void *object = cache == NULL ? NULL : hew_cache_pop(cache, code);
    return object == NULL ? NULL : small_out(object, code);
}

/* A large object of a cached class comes back.  False: a misuse. */
static HEW_NOINLINE bool
large_back(const char *function, void *object, unsigned code)
{
    struct hew_extent *extent = hew_map_extent((uintptr_t)object);
    if (HEW_UNLIKELY(!hew_extent_is_out(extent, (uintptr_t)object, code))) {
        hew_describe_bad_pointer(function, (uintptr_t)object);
        return false;
    }
    if (HEW_UNLIKELY(extent->large.back)) {
        hew_describe_double_free(function, (uintptr_t)object);
        return false;
    }
    extent->large.back = true;
    return true;
}

/* A region comes back.  False: a misuse. */
HEW_INLINE bool
small_back(const char *function, void *object, unsigned code)
{
    uint8_t *mark = hew_mark_at((uintptr_t)object, code);
    if (HEW_UNLIKELY(mark == NULL) || HEW_UNLIKELY(*mark != HEW_MARK_OUT)) {
        hew_describe_bad_pointer(function, (uintptr_t)object);
        return false;
    }
    *mark = HEW_MARK_BACK;
    if (HEW_LIKELY(canaries)) {
        uint64_t word = canary_of(object);
        memcpy(object, &word, sizeof word);
    }
    return true;
}

bool
hew_harden_back(const char *function, void *object, unsigned code)
{
    if (code == HEW_CODE_NONE || code > HEW_CODE_CACHED_LAST) {
        return true; /* the caller checks these */
    }
    return code > HEW_CODE_SMALL_LAST ? large_back(function, object, code) : small_back(function, object, code);
}

bool
hew_harden_free(const char *function, void *object, unsigned code)
{
    if (HEW_UNLIKELY(code - 1 >= HEW_CODE_SMALL_LAST)) {
        return !hew_harden_back(function, object, code);
    }
    if (!small_back(function, object, code)) {
        return true;
    }
    struct hew_cache *cache = plain_cache();
    return cache != NULL && hew_cache_push(cache, code, object);
}

void
hew_harden_look(const char *function, const void *object)
{
    uintptr_t address = (uintptr_t)object;
    unsigned code = hew_map_code(address);
    if (code == HEW_CODE_NONE || code > HEW_CODE_CACHED_LAST) {
        return;
    }
    bool out;
    if (code > HEW_CODE_SMALL_LAST) {
        const struct hew_extent *extent = hew_map_extent(address);
        out = extent == NULL || extent->address != address || !extent->large.back;
    } else {
        const uint8_t *mark = hew_mark_at(address, code);
        if (HEW_UNLIKELY(mark == NULL)) {
            hew_describe_and_end(function, address);
        }
        out = *mark == HEW_MARK_OUT;
    }
    if (HEW_UNLIKELY(!out)) {
        hew_describe_free_and_end(function, address);
    }
}
