/* SPDX-License-Identifier: MIT */
#include "guard/slots.h"

#include "base/random.h"
#include "meta/map.h"
#include "meta/memory.h"
#include "os/memory.h"
#include "os/process.h"

#include <string.h>

#define CHUNK 64u /* slots that are made ready together: their page-table entries fill one page */
#define PATTERN 0xfb
#define SITE_SHARE 4  /* a site is guarded less often after so many of its objects were */
#define SITE_LEAST 16 /* but one in so many times at least */

uintptr_t hew_guard_base, hew_guard_end;
struct hew_mutex hew_guard_lock = HEW_MUTEX(guard);

/* In hew's own memory; all of it under the lock, except for the slots themselves. */
static struct table {
    struct hew_guard_slot slots[HEW_GUARD_SLOTS];
    uint16_t ring[HEW_GUARD_SLOTS]; /* freed slots, the oldest first */
    uint8_t sites[HEW_GUARD_SITES]; /* objects guarded by hash of their call site */
    unsigned oldest, waiting, live, used;
    bool protects; /* the system has no fences */
    struct hew_random random;
} *table;
static bool tried;

/* The lower half is the guard, the upper one holds the object. */
static size_t
slot_bytes(void)
{
    return 2 * (hew_system_page < HEW_GRAIN ? HEW_GRAIN : hew_system_page);
}

static size_t
range_bytes(void)
{
    return HEW_GUARD_SLOTS * slot_bytes();
}

static void *
half_of(unsigned number)
{
    return (void *)(hew_guard_base + number * slot_bytes() + slot_bytes() / 2);
}

/* Reserved, aligned to a slot. */
static uintptr_t
reserve(void)
{
    char *range = hew_os_reserve(range_bytes() + slot_bytes());
    return range == NULL ? 0 : hew_bits_round_up((uintptr_t)range, slot_bytes());
}

/* Lock held. */
static void
begin(void)
{
    uintptr_t base = reserve();
    struct table *room = base == 0 ? NULL : hew_meta_take_pages(hew_system_pages(sizeof *room));
    if (room == NULL || !hew_map_cover(base, range_bytes())) {
        return; /* what was taken stays unused: there is no second time */
    }
    room->random.state = hew_os_random_seed();
    for (uintptr_t grain = base; grain < base + range_bytes(); grain += HEW_GRAIN) {
        hew_map_set_code(grain, HEW_CODE_GUARD);
    }
    hew_guard_base = base;
    hew_guard_end = base + range_bytes();
    table = room;
}

bool
hew_guard_slots_begin(void)
{
    hew_mutex_lock(&hew_guard_lock);
    if (!tried) {
        tried = true;
        begin();
    }
    bool begun = table != NULL;
    hew_mutex_unlock(&hew_guard_lock);
    return begun;
}

/* Lock held.  Makes the next slots ready.  False: the system refused. */
static bool
open_chunk(void)
{
    void *chunk = (void *)(hew_guard_base + table->used * slot_bytes());
    if (table->protects) {
        return true;
    }
    if (!hew_os_make_writable(chunk, CHUNK * slot_bytes())) {
        return false;
    }
    hew_os_advise_small(chunk, CHUNK * slot_bytes());
    if (!hew_os_fence(chunk, CHUNK * slot_bytes())) {
        table->protects = true;
        return hew_os_guard(chunk, CHUNK * slot_bytes());
    }
    return true;
}

/* Lock held.  A slot that was never used, else the one that was freed first; HEW_GUARD_SLOTS: none. */
static unsigned
next_slot(void)
{
    if (table->live == HEW_GUARD_LIVE) {
        return HEW_GUARD_SLOTS;
    }
    if (table->used < HEW_GUARD_SLOTS && (table->used % CHUNK != 0 || open_chunk())) {
        return table->used++;
    }
    if (table->waiting == 0) {
        return HEW_GUARD_SLOTS;
    }
    unsigned number = table->ring[table->oldest];
    table->oldest = (table->oldest + 1) % HEW_GUARD_SLOTS;
    table->waiting--;
    return number;
}

/* Lock held. */
static void
wait_in_line(unsigned number)
{
    table->ring[(table->oldest + table->waiting++) % HEW_GUARD_SLOTS] = (uint16_t)number;
    table->live--;
}

static unsigned
number_of(const struct hew_guard_slot *slot)
{
    return (unsigned)(slot - table->slots);
}

static uintptr_t
pages_of(const struct hew_guard_slot *slot)
{
    return slot->object & ~(uintptr_t)(hew_system_page - 1);
}

static size_t
page_bytes_of(const struct hew_guard_slot *slot)
{
    return hew_system_pages(slot->object + slot->usable) - pages_of(slot);
}

static bool
open_pages(struct hew_guard_slot *slot)
{
    void *pages = (void *)pages_of(slot);
    size_t size = page_bytes_of(slot);
    if ((table->protects || slot->was_protected) && !hew_os_make_writable(pages, size)) {
        return false;
    }
    return table->protects || hew_os_unfence(pages, size);
}

static void
put_pattern(const struct hew_guard_slot *slot)
{
    uintptr_t begin = pages_of(slot), end = begin + page_bytes_of(slot), tail = slot->object + slot->requested;
    memset((void *)begin, PATTERN, slot->object - begin);
    memset((void *)tail, PATTERN, end - tail);
}

struct hew_guard_slot *
hew_guard_slot_take(size_t requested, size_t usable, const struct hew_guard_stack *born)
{
    hew_mutex_lock(&hew_guard_lock);
    unsigned number = next_slot();
    bool high = number != HEW_GUARD_SLOTS && hew_random_next(&table->random) % 4 != 0; /* overflows are more frequent */
    table->live += number != HEW_GUARD_SLOTS;
    hew_mutex_unlock(&hew_guard_lock);
    if (number == HEW_GUARD_SLOTS) {
        return NULL;
    }
    struct hew_guard_slot *slot = &table->slots[number];
    atomic_store_explicit(&slot->state, HEW_GUARD_OPENING, memory_order_relaxed);
    atomic_store_explicit(&slot->asked, false, memory_order_relaxed);
    slot->requested = (uint16_t)requested;
    slot->usable = (uint16_t)usable;
    slot->high = high;
    slot->object = (uintptr_t)half_of(number) + (high ? slot_bytes() / 2 - usable : 0);
    slot->born = *born;
    slot->died = (struct hew_guard_stack){0};
    if (!open_pages(slot)) {
        atomic_store_explicit(&slot->state, HEW_GUARD_GONE, memory_order_relaxed);
        hew_mutex_lock(&hew_guard_lock);
        wait_in_line(number);
        hew_mutex_unlock(&hew_guard_lock);
        return NULL;
    }
    put_pattern(slot);
    return slot;
}

void
hew_guard_slot_close(struct hew_guard_slot *slot)
{
    void *pages = (void *)pages_of(slot);
    size_t size = page_bytes_of(slot);
    /* release: a thread that finds the object gone also sees its last stack */
    atomic_store_explicit(&slot->state, HEW_GUARD_GONE, memory_order_release);
    if (table->protects || !hew_os_fence(pages, size)) { /* refused: the program has locked its memory */
        slot->was_protected = true;
        hew_os_guard(pages, size);
        hew_os_purge(pages, size);
    }
    hew_mutex_lock(&hew_guard_lock);
    wait_in_line(number_of(slot));
    hew_mutex_unlock(&hew_guard_lock);
}

struct hew_guard_slot *
hew_guard_slot_of(uintptr_t address)
{
    return address - hew_guard_base < hew_guard_end - hew_guard_base
               ? &table->slots[(address - hew_guard_base) / slot_bytes()]
               : NULL;
}

struct hew_guard_slot *
hew_guard_slot_beside(struct hew_guard_slot *slot, int step)
{
    unsigned number = number_of(slot) + (unsigned)step;
    return number < HEW_GUARD_SLOTS ? &table->slots[number] : NULL;
}

static bool
is_all(unsigned char byte, uintptr_t from, uintptr_t to)
{
    while (from < to && *(const unsigned char *)from == byte) {
        from++;
    }
    return from == to;
}

enum hew_guard_damage
hew_guard_slot_damage(const struct hew_guard_slot *slot, bool exact)
{
    uintptr_t begin = pages_of(slot), end = begin + page_bytes_of(slot), object = slot->object;
    if (!is_all(PATTERN, begin, object)) {
        return HEW_GUARD_BEFORE;
    }
    uintptr_t slack = object + slot->requested, usable = object + slot->usable;
    bool whole = is_all(PATTERN, usable, end) &&
                 (!exact || is_all(PATTERN, slack, usable) || is_all(0, slack, usable)); /* zeros are calloc's */
    return whole ? HEW_GUARD_WHOLE : HEW_GUARD_BEHIND;
}

static unsigned
site_of(const struct hew_guard_stack *stack)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < stack->depth; i++) {
        hash = (hash ^ stack->frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (unsigned)(hash >> 32) % HEW_GUARD_SITES;
}

/* Lock held.  So that a site that is seldom used now counts as one. */
static void
halve_sites(void)
{
    for (unsigned i = 0; i < HEW_GUARD_SITES; i++) {
        table->sites[i] /= 2;
    }
}

bool
hew_guard_site_is_wanted(const struct hew_guard_stack *stack, bool any)
{
    hew_mutex_lock(&hew_guard_lock);
    uint8_t *site = &table->sites[site_of(stack)];
    unsigned of = 1 + *site / SITE_SHARE;
    bool wanted = any || hew_random_next(&table->random) % (of < SITE_LEAST ? of : SITE_LEAST) == 0;
    if (wanted && ++*site == UINT8_MAX) {
        halve_sites();
    }
    hew_mutex_unlock(&hew_guard_lock);
    return wanted;
}

struct hew_guard_usage
hew_guard_usage_now(void)
{
    struct hew_guard_usage usage = {0};
    hew_mutex_lock(&hew_guard_lock);
    if (table != NULL) {
        usage = (struct hew_guard_usage){.live = table->live, .waiting = table->waiting};
    }
    hew_mutex_unlock(&hew_guard_lock);
    return usage;
}
