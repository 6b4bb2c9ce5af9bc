/* SPDX-License-Identifier: MIT */
/*
 * arena_life: arenas that a program makes, resets and destroys, and the settings of one arena.
 *
 * Numbers   0 .. hew_arena_limit() - 1 belong to the automatic arenas, made or not.  Higher ones belong to arenas that
 *           programs make: the lowest destroyed number first, otherwise the next one.
 * Promises  memory of a struct hew_arena is never reused for anything else, so a late reader of a destroyed arena finds
 *           locks and counters.  The counters of destroyed arenas are summed up.
 * Locks     hew_arenas_lock while the table changes.  Reset and destroy hold no lock while hooks run.  A flag set under
 *           hew_arenas_lock keeps other threads from resetting, destroying or joining the arena at the same time.
 */
#ifndef HEW_SLAB_ARENA_LIFE_H
#define HEW_SLAB_ARENA_LIFE_H

#include "page/hooks.h"
#include "slab/arena.h"

/* Makes an arena with the given hooks, NULL for the default.  Returns its number; -1: no memory, or no number left. */
int hew_arena_create(struct hew_extent_hooks *hooks);

/* Returns the arena with that number, an automatic one made if it is new; NULL when there is none or no memory. */
struct hew_arena *hew_arena_find(unsigned index);

/*
 * Reset frees every object of an arena that a program made; destroy then returns its address space and ends it.
 * `gone`, which may be NULL, is called for each large object before it is freed.  Returns false, with nothing done, if
 * the caller is inside a hook, or if the arena is automatic, does not exist, or is being reset or destroyed.  Destroy
 * also returns false while threads are bound to the arena.
 */
typedef void (*hew_arena_gone)(struct hew_extent *extent);
bool hew_arena_reset(unsigned index, hew_arena_gone gone);
bool hew_arena_destroy(unsigned index, hew_arena_gone gone);

/* The counters of all destroyed arenas, as one arena without a number; NULL while there is none.  Its page counts are
 * in ->own_pages.counts, and its free lists are empty. */
struct hew_arena *hew_arenas_destroyed(void);

/* In a fork's child, with the table's lock free: an arena that another thread was resetting or destroying can be
 * destroyed here.  What that thread was handling is lost. */
void hew_arena_life_after_fork(void);

/* A thread starts or stops allocating here.  False: the arena is being destroyed. */
bool hew_arena_join(struct hew_arena *arena);
void hew_arena_leave(struct hew_arena *arena);

/* Keeps at most 31 characters.  Reading pads `name` with zeros. */
void hew_arena_set_name(struct hew_arena *arena, const char *name);
void hew_arena_get_name(struct hew_arena *arena, char name[HEW_ARENA_NAME_BYTES]);

/* Never NULL: the default table, or the program's own. */
struct hew_extent_hooks *hew_arena_hooks(struct hew_arena *arena);
/* Returns the former table. */
struct hew_extent_hooks *hew_arena_set_hooks(struct hew_arena *arena, struct hew_extent_hooks *hooks);

/* Decay times, from -1 on.  Setting one treats all idle memory as decayed.  `arena` NULL: for arenas made later. */
enum hew_decay_kind { HEW_DECAY_DIRTY, HEW_DECAY_MUZZY };
int64_t hew_arena_decay_ms(struct hew_arena *arena, enum hew_decay_kind kind);
void hew_arena_set_decay_ms(struct hew_arena *arena, enum hew_decay_kind kind, int64_t decay_ms);

/* Whether the arena uses sbrk; `arena` NULL: for arenas made later. */
enum hew_dss hew_arena_dss(struct hew_arena *arena);
void hew_arena_set_dss(struct hew_arena *arena, enum hew_dss dss);

/* In an automatic arena, requests of that many bytes or more go to the arena of oversize requests.  In an arena that a
 * program made, memory that large returns to the system when it is freed. 0 and SIZE_MAX: none. */
size_t hew_arena_oversize_threshold(const struct hew_arena *arena);
void hew_arena_set_oversize_threshold(struct hew_arena *arena, size_t bytes);

/* The largest step by which the heap maps address space, rounded down to a size class.  False: less than a page. */
size_t hew_arena_retain_grow_limit(struct hew_arena *arena);
bool hew_arena_set_retain_grow_limit(struct hew_arena *arena, size_t bytes);

/* Nanoseconds since the arena was made. */
uint64_t hew_arena_uptime_ns(const struct hew_arena *arena);

/* Purges what decay says is due, or all idle memory.  First, empty slabs that bins keep become idle pages. */
void hew_arena_decay(struct hew_arena *arena, bool all);

/* The same for every arena: first the slabs of all, since a slab's pages may belong to another arena. */
void hew_arenas_decay(bool all);

#endif
