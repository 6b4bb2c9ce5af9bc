/* SPDX-License-Identifier: MIT */
/*
 * arena: the table of arenas: making arenas, and choosing one.  An arena is made when it is first needed, so that
 * programs with few threads pay for few.
 */
#include "slab/arena.h"

#include "base/text.h"
#include "meta/memory.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "page/shelf.h"

struct hew_mutex hew_arenas_lock = HEW_MUTEX(arenas);

struct hew_arena_defaults hew_arena_defaults;
_Atomic bool hew_arena_was_created, hew_arena_was_destroyed;
/* Guarded by hew_arenas_lock. */
static unsigned count;           /* 0 = not known yet */
static _Atomic unsigned limit;   /* likewise; read without the lock */
static struct hew_arena *unmade; /* linked by larges.next */

static _Atomic unsigned end;      /* no arena has this number or a higher one; written under hew_arenas_lock */
static _Atomic unsigned oversize; /* number of the arena of oversize requests, 0 = not known yet; likewise */

static struct hew_arena *
next_unmade(const struct hew_arena *arena)
{
    return (struct hew_arena *)arena->larges.next;
}

void
hew_arena_place_bins(struct hew_arena *arena, unsigned number)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        HEW_MUTEX_PLACE(&arena->bins[code].lock, bin, number * HEW_CODES + code);
    }
}

/* Lock held.  Takes memory that has never been anything but the arena of that number, so that a late reader reads the
 * right number. */
static struct hew_arena *
take_struct(unsigned index)
{
    struct hew_arena *before = NULL, *arena = unmade;
    while (arena != NULL && arena->index != index) {
        before = arena;
        arena = next_unmade(arena);
    }
    if (arena == NULL) {
        arena = hew_meta_take(sizeof *arena);
        if (arena != NULL) {
            arena->index = (uint16_t)index;
            hew_arena_place_bins(arena, index);
        }
    } else if (before == NULL) {
        unmade = next_unmade(arena);
    } else {
        before->larges.next = arena->larges.next;
    }
    return arena;
}

static bool
has_hooks(const struct hew_arena *arena)
{
    return __atomic_load_n(&arena->pages.heap->hooks, __ATOMIC_RELAXED) != NULL;
}

/* Lock held.  Queries the system for the CPUs' limits: first at boot, before the program can have forbidden that. */
static unsigned
known_limit(void)
{
    unsigned known = atomic_load_explicit(&limit, memory_order_relaxed);
    if (known == 0) {
        uint64_t wanted = hew_options.narenas;
        unsigned first = wanted == 1 ? 1 : hew_cpus_usable(); /* a single arena needs no query */
        if (wanted == 0) {
            wanted = (uint64_t)first * (uint64_t)hew_options.narenas_ratio.thousandths / 1000;
        }
        known = wanted == 0 ? 1 : wanted > HEW_OPTION_ARENAS_MAX ? HEW_OPTION_ARENAS_MAX : (unsigned)wanted;
        atomic_store_explicit(&limit, known, memory_order_relaxed);
    }
    return known;
}

/* Lock held.  Uses the options, or later settings by mallctl. */
static void
set_up_own_pages(struct hew_arena *arena, uint64_t now)
{
    const struct hew_arena_defaults *defaults = &hew_arena_defaults;
    struct hew_page_heap *heap = &arena->own_pages;
    hew_mutex_lock(&heap->lock); /* a late purger may still read the former arena in this struct */
    hew_page_heap_begin(heap, arena->index, now);
    if (defaults->set) {
        hew_decay_begin(&heap->dirty_decay, defaults->dirty_ms, now);
        hew_decay_begin(&heap->muzzy_decay, defaults->muzzy_ms, now);
        heap->dss = (uint8_t)defaults->dss;
    }
    heap->is_private = arena->manual;
    hew_mutex_unlock(&heap->lock);
}

/* Lock held.  Returns the arena whose heap automatic arena `index` shares, made if it is new.  NULL: the arena has its
 * own heap, like every arena that a program made or that is for oversize requests, and wherever the program's hooks own
 * the pages. */
static struct hew_arena *
page_owner(unsigned index, bool manual)
{
    unsigned first = index - index % HEW_PAGE_CLIENTS;
    if (manual || index == first || index >= known_limit()) {
        return NULL;
    }
    struct hew_arena *owner = hew_arena_at(first);
    owner = owner == NULL ? hew_arena_make(first, false) : owner;
    return owner == NULL || has_hooks(owner) ? NULL : owner;
}

/* Lock held. */
static void
set_up_pages(struct hew_arena *arena, struct hew_arena *owner, uint64_t now)
{
    if (arena->pages.heap == NULL) { /* for every life of this struct: a late reader may still hold it */
        arena->pages = (struct hew_page_client){owner == NULL ? &arena->own_pages : &owner->own_pages, arena->index};
    }
    if (owner == NULL) {
        set_up_own_pages(arena, now);
    }
    if (!arena->manual) {
        struct hew_page_heap *heap = arena->pages.heap;
        hew_mutex_lock(&heap->lock);
        hew_page_open_shelf(heap, arena->index, (struct hew_large_tally){arena->large, &arena->large_bytes});
        hew_mutex_unlock(&heap->lock);
    }
}

static void
set_up_name(struct hew_arena *arena)
{
    struct hew_text text;
    hew_text_begin(&text, arena->name, sizeof arena->name);
    hew_text_put(&text, arena->manual ? "manual_" : "auto_");
    hew_text_put_unsigned(&text, arena->index);
}

struct hew_arena *
hew_arena_make(unsigned index, bool manual)
{
    struct hew_arena *owner = page_owner(index, manual), *arena = take_struct(index);
    if (arena == NULL) {
        return NULL;
    }
    /* Atomic: a thread with the address of a destroyed arena may read it at any time. */
    __atomic_store_n(&arena->manual, manual, __ATOMIC_RELAXED);
    if (manual) {
        atomic_store_explicit(&hew_arena_was_created, true, memory_order_relaxed);
    }
    uint64_t now = index == 0 ? hew_clock_early_ns() : hew_clock_ns(); /* later no system call: it may be forbidden */
    atomic_store_explicit(&arena->born_ns, now, memory_order_relaxed);
    size_t threshold = hew_options.oversize_threshold;
    atomic_store_explicit(&arena->oversize_threshold, threshold == 0 ? SIZE_MAX : threshold, memory_order_relaxed);
    atomic_store_explicit(&arena->life, HEW_ARENA_LIVES, memory_order_relaxed);
    set_up_pages(arena, owner, now / 1000000);
    set_up_name(arena);
    hew_list_begin(&arena->larges);
    for (unsigned code = 1; manual && code <= HEW_CODE_SMALL_LAST; code++) {
        hew_bin_list_full(&arena->bins[code]);
    }
    atomic_store_explicit(&hew_arenas[index], arena, memory_order_release);
    if (index >= atomic_load_explicit(&end, memory_order_relaxed)) {
        atomic_store_explicit(&end, index + 1, memory_order_release);
    }
    return arena;
}

void
hew_arena_unmake(struct hew_arena *arena)
{
    atomic_store_explicit(&hew_arenas[arena->index], NULL, memory_order_release);
    atomic_store_explicit(&hew_arena_was_destroyed, true, memory_order_relaxed);
    arena->larges.next = (struct hew_list *)unmade;
    unmade = arena;
}

struct hew_arena *
hew_arena_next(unsigned index)
{
    unsigned most = atomic_load_explicit(&end, memory_order_acquire);
    for (; index < most; index++) {
        struct hew_arena *arena = hew_arena_at(index);
        if (arena != NULL) {
            return arena;
        }
    }
    return NULL;
}

bool
hew_arena_begin_trim(struct hew_arena *arena)
{
    if (HEW_LIKELY(!__atomic_load_n(&arena->manual, __ATOMIC_RELAXED))) {
        return true;
    }
    hew_mutex_lock(&hew_arenas_lock);
    bool lives = arena->life == HEW_ARENA_LIVES && hew_arena_at(arena->index) == arena;
    if (lives) {
        atomic_fetch_add_explicit(&arena->trims, 1, memory_order_relaxed);
    }
    hew_mutex_unlock(&hew_arenas_lock);
    return lives;
}

/* In a child that a hook has forked, the trim continues, but is no longer counted. */
void
hew_arena_end_trim(struct hew_arena *arena)
{
    uint32_t trims = arena->manual ? atomic_load_explicit(&arena->trims, memory_order_relaxed) : 0;
    /* release: pairs with the acquire in await_trims(), which then finds the slabs back in the page heap */
    while (trims != 0 && !atomic_compare_exchange_weak_explicit(&arena->trims, &trims, trims - 1, memory_order_release,
                                                                memory_order_relaxed)) {
    }
}

void
hew_arena_trim(struct hew_arena *arena)
{
    if (!hew_arena_begin_trim(arena)) {
        return;
    }
    HEW_EACH_USED_BIN(arena, code)
    {
        hew_bin_trim(&arena->bins[code], arena->pages.heap);
    }
    hew_arena_end_trim(arena);
}

static void
free_locks(struct hew_arena *arena)
{
    hew_mutex_after_fork(&arena->own_pages.lock);
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        hew_mutex_after_fork(&arena->bins[code].lock);
    }
}

/* Frees the locks of structs that have left the table: no fork handler has taken them. */
void
hew_arenas_after_fork(void)
{
    for (struct hew_arena *arena = unmade; arena != NULL; arena = next_unmade(arena)) {
        free_locks(arena);
    }
}

struct hew_arena *
hew_arena_without_hooks(void)
{
    struct hew_arena *first = hew_arena_get(0);
    bool hooked = first != NULL && has_hooks(first);
    return hooked ? hew_arena_get(HEW_ARENA_REFUGE) : first;
}

struct hew_arena *
hew_arena_get(unsigned index)
{
    struct hew_arena *arena = hew_arena_at(index);
    if (arena == NULL) {
        hew_mutex_lock(&hew_arenas_lock);
        arena = hew_arena_at(index);
        arena = arena == NULL ? hew_arena_make(index, false) : arena;
        hew_mutex_unlock(&hew_arenas_lock);
    }
    return arena;
}

static HEW_NOINLINE unsigned
ask_limit(void)
{
    hew_mutex_lock(&hew_arenas_lock);
    unsigned known = known_limit();
    hew_mutex_unlock(&hew_arenas_lock);
    return known;
}

unsigned
hew_arena_limit(void)
{
    unsigned known = atomic_load_explicit(&limit, memory_order_relaxed);
    return HEW_LIKELY(known != 0) ? known : ask_limit();
}

/* Lock held. */
static unsigned
first_manual(void)
{
    return known_limit() + (hew_options.oversize_threshold != 0);
}

unsigned
hew_arena_new_number(void)
{
    unsigned index = first_manual();
    while (index < count && hew_arena_at(index) != NULL) {
        index++;
    }
    if (index >= HEW_ARENA_REFUGE) {
        return HEW_ARENAS_MAX;
    }
    count = index < count ? count : index + 1;
    return index;
}

unsigned
hew_arenas_count(void)
{
    hew_mutex_lock(&hew_arenas_lock);
    unsigned known = count == 0 ? first_manual() : count;
    hew_mutex_unlock(&hew_arenas_lock);
    return known;
}

/* Lock held.  Extents this large are unmapped immediately instead of being cached. */
static struct hew_arena *
make_oversize(void)
{
    bool reserved = hew_options.oversize_threshold != 0;
    unsigned index = reserved ? known_limit() : hew_arena_new_number();
    struct hew_arena *arena = index == HEW_ARENAS_MAX ? NULL : hew_arena_make(index, false);
    if (arena == NULL) {
        return NULL;
    }
    struct hew_page_heap *pages = arena->pages.heap; /* its own */
    hew_mutex_lock(&pages->lock);
    int64_t dirty_ms = pages->dirty_decay.decay_ms, muzzy_ms = pages->muzzy_decay.decay_ms;
    hew_decay_begin(&pages->dirty_decay, dirty_ms > 0 ? 0 : dirty_ms, hew_clock_ms());
    hew_decay_begin(&pages->muzzy_decay, muzzy_ms > 0 ? 0 : muzzy_ms, hew_clock_ms());
    hew_shelf_decide(pages);
    pages->thp = hew_options.huge_arena_pac_thp ? HEW_THP_ALWAYS : pages->thp;
    hew_mutex_unlock(&pages->lock);
    atomic_store_explicit(&oversize, index, memory_order_release);
    return arena;
}

HEW_COLD struct hew_arena *
hew_arena_of_oversize(struct hew_arena *own)
{
    unsigned index = atomic_load_explicit(&oversize, memory_order_acquire);
    if (own->manual || own->index == HEW_ARENA_REFUGE) {
        return own;
    }
    if (index != 0) {
        return hew_arena_at(index);
    }
    hew_mutex_lock(&hew_arenas_lock);
    index = atomic_load_explicit(&oversize, memory_order_relaxed);
    struct hew_arena *arena = index != 0 ? hew_arena_at(index) : make_oversize();
    hew_mutex_unlock(&hew_arenas_lock);
    return arena == NULL ? own : arena;
}

struct hew_arena *
hew_arena_of_cpu(void)
{
    unsigned most = hew_arena_limit();
    most = hew_options.percpu_arena == HEW_PERCPU_ARENA_PHYCPU ? (most + 1) / 2 : most;
    return hew_arena_get(hew_cpus_current() % most);
}

/* Lock held; `best` is the first arena. */
static struct hew_arena *
least_loaded(struct hew_arena *best)
{
    unsigned most = known_limit();
    for (unsigned index = 1; index < most; index++) {
        struct hew_arena *arena = hew_arena_at(index);
        if (arena == NULL) {
            bool idle = atomic_load_explicit(&best->threads, memory_order_relaxed) == 0;
            arena = idle ? NULL : hew_arena_make(index, false);
            return arena == NULL ? best : arena;
        }
        if (atomic_load_explicit(&arena->threads, memory_order_relaxed) <
            atomic_load_explicit(&best->threads, memory_order_relaxed)) {
            best = arena;
        }
    }
    return best;
}

/* The very first thread needs neither the lock nor the CPUs' limits. */
static bool
join_idle(struct hew_arena *arena)
{
    uint32_t none = 0;
    return atomic_compare_exchange_strong_explicit(&arena->threads, &none, 1, memory_order_relaxed,
                                                   memory_order_relaxed);
}

struct hew_arena *
hew_arena_join_least_loaded(void)
{
    bool of_cpu = HEW_UNLIKELY(hew_options.percpu_arena != HEW_PERCPU_ARENA_DISABLED);
    struct hew_arena *arena = of_cpu ? hew_arena_of_cpu() : hew_arena_get(0);
    if (arena == NULL || (!of_cpu && join_idle(arena))) {
        return arena;
    }
    hew_mutex_lock(&hew_arenas_lock);
    arena = of_cpu ? arena : least_loaded(arena);
    atomic_fetch_add_explicit(&arena->threads, 1, memory_order_relaxed);
    hew_mutex_unlock(&hew_arenas_lock);
    return arena;
}
