/* SPDX-License-Identifier: MIT */
/* harden: see harden.h.  Only processes with hardening:check or full run this code. */
#include "alloc/harden.h"

#include "alloc/fill.h"
#include "cache/owner.h"
#include "meta/memory.h"
#include "os/process.h"
#include "slab/describe.h"
#include "slab/large.h"

#include <string.h>

#define WAITING 2048                     /* objects in a quarantine, */
#define WAITING_BYTES ((size_t)1 << 20)  /* and their bytes: a larger class has fewer */
#define CHOICE 256                       /* regions in a pool, */
#define CHOICE_BYTES ((size_t)256 << 10) /* and their bytes, */
#define CHOICE_LEAST 16                  /* but no fewer than this */
#define TAIL 0xfb

/* What a thread keeps with `full`.  In hew's own memory, which begins as zeros. */
struct kept {
    uint64_t random;
    size_t bytes; /* of the waiting objects */
    uint32_t oldest, waiting;
    struct {
        void *object;
        size_t size;
    } ring[WAITING];
    unsigned count[HEW_CODE_SMALL_LAST + 1];
    void *pool[HEW_CODE_SMALL_LAST + 1][CHOICE];
};
static __thread struct kept *kept;
static __thread bool kept_no_more;

static uint64_t key;  /* of the canaries; written at boot */
static bool canaries; /* junk and zero write to free objects, and so exclude canaries */

void
hew_harden_boot(void)
{
    key = hew_os_random_seed() | 1;
    if (hew_harden_is_full()) { /* free objects are zeros, and all new ones */
        hew_options.zero = false;
        hew_options.junk = HEW_JUNK_FALSE;
        hew_options.san_guard_large = hew_options.san_guard_large == 0 ? 1 : hew_options.san_guard_large;
    }
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

/* The mark of a region; ends the process where none begins. */
HEW_INLINE uint8_t *
mark_of(const char *function, const void *object, unsigned code)
{
    uint8_t *mark = hew_mark_at((uintptr_t)object, code);
    if (HEW_UNLIKELY(mark == NULL)) {
        hew_describe_and_end(function, (uintptr_t)object);
    }
    return mark;
}

/* A region leaves for the program. */
HEW_INLINE void *
small_out(void *object, unsigned code)
{
    uint8_t *mark = mark_of("malloc", object, code);
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

/* The thread's quarantine and pools.  NULL: there is no memory, or the thread has ended. */
static struct kept *
own_kept(void)
{
    if (kept == NULL && !kept_no_more && hew_cache_is_real(hew_cache_self)) {
        kept = hew_meta_take(sizeof *kept);
        if (kept != NULL) {
            kept->random = hew_os_random_seed() | 1;
        }
    }
    return kept;
}

/* xorshift64*: from 0 to `below` - 1. */
static unsigned
draw(struct kept *own, unsigned below)
{
    own->random ^= own->random >> 12;
    own->random ^= own->random << 25;
    own->random ^= own->random >> 27;
    return (unsigned)((own->random * UINT64_C(0x2545f4914f6cdd1d) >> 32) * below >> 32);
}

static unsigned
choice_of(unsigned code)
{
    size_t most = CHOICE_BYTES / hew_code_size(code);
    return most >= CHOICE ? CHOICE : most < CHOICE_LEAST ? CHOICE_LEAST : (unsigned)most;
}

/* Swaps a region that is about to go out with a random one of the pool. */
static void *
choose(struct hew_arena *arena, void *object, unsigned code)
{
    struct kept *own = own_kept();
    if (own == NULL || arena == NULL || arena->manual) {
        return object;
    }
    void **pool = own->pool[code];
    if (own->count[code] == 0) {
        own->count[code] = hew_bin_take(&arena->bins[code], &arena->pages, code, pool, choice_of(code));
    }
    if (own->count[code] != 0) {
        void **at = &pool[draw(own, own->count[code])], *chosen = *at;
        *at = object;
        object = chosen;
    }
    return object;
}

static bool
all_zero(const char *bytes, size_t size)
{
    uint64_t sum = 0, word;
    for (size_t at = 0; at < size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        sum |= word;
    }
    return sum == 0;
}

static uint64_t *
word_of(const void *object, unsigned code)
{
    return (uint64_t *)((uintptr_t)object + hew_code_size(code) - HEW_HARDEN_WORD);
}

/* A region leaves for the program, with `full`: all zeros, and a tail. */
static void *
full_out(void *object, unsigned code, size_t size)
{
    uint8_t *mark = mark_of("malloc", object, code);
    if (*mark == HEW_MARK_BACK && HEW_UNLIKELY(!all_zero(object, hew_code_size(code)))) {
        hew_misuse(HEW_FATAL_written, "malloc", (uintptr_t)object, "the program wrote to it after that");
        *mark = HEW_MARK_NEW;
    }
    if (*mark == HEW_MARK_NEW) {
        memset(object, 0, hew_code_size(code));
    }
    uint64_t *word = word_of(object, code);
    size_t filled = (uintptr_t)word - (uintptr_t)object - size;
    memset((char *)object + size, TAIL, filled);
    *word = canary_of(object) ^ filled;
    *mark = HEW_MARK_OUT;
    return object;
}

/* Bytes filled behind the requested ones; more than the region has when the word was overwritten. */
static size_t
filled_of(const void *object, unsigned code)
{
    return *word_of(object, code) ^ canary_of(object);
}

/* A region comes back, with `full`. */
static bool
tail_is_whole(const void *object, unsigned code)
{
    size_t filled = filled_of(object, code), most = hew_code_size(code) - HEW_HARDEN_WORD;
    const unsigned char *end = (const unsigned char *)word_of(object, code), *at = end - filled;
    if (filled > most) {
        return false;
    }
    while (at < end && *at == TAIL) {
        at++;
    }
    return at == end;
}

void *
hew_harden_out(struct hew_arena *arena, void *object, size_t size)
{
    unsigned code = object == NULL ? HEW_CODE_NONE : hew_map_code((uintptr_t)object);
    if (code == HEW_CODE_NONE || code > HEW_CODE_CACHED_LAST) {
        return object;
    }
    if (code > HEW_CODE_SMALL_LAST) {
        hew_map_extent((uintptr_t)object)->large.back = false;
        return object;
    }
    return hew_harden_is_full() ? full_out(choose(arena, object, code), code, size) : small_out(object, code);
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
    struct hew_cache *cache = hew_harden_is_full() ? NULL : plain_cache();
    void *object = cache == NULL ? NULL : hew_cache_pop_from(cache, &cache->where, code);
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

/* A region comes back, with `full`.  False: a misuse. */
static bool
full_back(const char *function, void *object, unsigned code)
{
    if (HEW_UNLIKELY(!tail_is_whole(object, code))) {
        hew_misuse(HEW_FATAL_overflow, function, (uintptr_t)object, NULL);
        return false;
    }
    memset(object, 0, hew_code_size(code));
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
    if (hew_harden_is_full()) {
        return full_back(function, object, code);
    }
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

/* Removes the oldest waiting object; there is one. */
static void *
oldest_of(struct kept *own)
{
    void *object = own->ring[own->oldest].object;
    own->bytes -= own->ring[own->oldest].size;
    own->oldest = (own->oldest + 1) % WAITING;
    own->waiting--;
    return object;
}

/* The oldest waiting object returns to its slab. */
static void
give_oldest(struct kept *own)
{
    void *object = oldest_of(own);
    hew_owner_give(hew_map_code((uintptr_t)object), &object, 1);
}

/* The object waits.  Returns the one that has waited long enough, or NULL. */
static void *
exchange(void *object, unsigned code)
{
    struct kept *own = own_kept();
    if (own == NULL) {
        return object;
    }
    size_t size = hew_code_size(code);
    void *leaves = NULL;
    if (own->waiting == WAITING || (own->waiting != 0 && own->bytes + size > WAITING_BYTES)) {
        leaves = oldest_of(own);
    }
    while (own->waiting != 0 && own->bytes + size > WAITING_BYTES) { /* the new one is larger than the oldest */
        give_oldest(own);
    }
    unsigned at = (own->oldest + own->waiting++) % WAITING;
    own->ring[at].object = object;
    own->ring[at].size = size;
    own->bytes += size;
    return leaves;
}

void *
hew_harden_free(const char *function, void *object, unsigned code)
{
    if (HEW_UNLIKELY(code - 1 >= HEW_CODE_SMALL_LAST)) {
        return hew_harden_back(function, object, code) ? object : NULL;
    }
    if (!small_back(function, object, code)) {
        return NULL;
    }
    if (hew_harden_is_full()) {
        return exchange(object, code);
    }
    struct hew_cache *cache = plain_cache();
    return cache != NULL && hew_cache_push_into(cache, &cache->where, code, object) ? NULL : object;
}

void
hew_harden_end(void)
{
    struct kept *own = kept;
    kept = NULL;
    kept_no_more = true;
    if (own == NULL) {
        return;
    }
    while (own->waiting != 0) {
        give_oldest(own);
    }
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        if (own->count[code] != 0) {
            hew_owner_give(code, own->pool[code], own->count[code]);
        }
    }
    hew_meta_give(own, sizeof *own);
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
        out = *mark_of(function, object, code) == HEW_MARK_OUT;
    }
    if (HEW_UNLIKELY(!out)) {
        hew_describe_free_and_end(function, address);
    }
}

size_t
hew_harden_usable(const char *function, const void *object, size_t usable)
{
    hew_harden_look(function, object);
    unsigned code = hew_map_code((uintptr_t)object);
    if (!hew_harden_is_full() || code - 1 >= HEW_CODE_SMALL_LAST) {
        return usable;
    }
    size_t filled = filled_of(object, code), most = usable - HEW_HARDEN_WORD;
    return filled > most ? 0 : most - filled;
}
