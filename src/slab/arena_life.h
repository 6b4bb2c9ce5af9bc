/* SPDX-License-Identifier: MIT */
/*
 * arena_life: arenas that a program makes, empties and destroys, and what can be set for one arena.
 *
 * Numbers   0 .. hew_arena_limit() - 1 belong to the automatic arenas, made or not; what follows, to those that
 *           programs make: the lowest destroyed number first, else the next one.
 * Promises  memory of a struct hew_arena is never anything else, so that a late reader of a destroyed one finds locks
 *           and counters; the counters of those that were destroyed are summed up.
 * Locks     hew_arenas_lock while the table changes.  Resetting and destroying hold none while hooks are called: a mark
 *           under hew_arenas_lock keeps others from resetting, destroying or joining the arena at the same time.
 */
#ifndef HEW_SLAB_ARENA_LIFE_H
#define HEW_SLAB_ARENA_LIFE_H

#include "page/hooks.h"
#include "slab/arena.h"

/* A new arena with the given hooks, NULL for the default; its number.  -1: no memory, or no number left. */
int hew_arena_create(struct hew_extent_hooks *hooks);

/* The arena with that number, an automatic one made if it is new; NULL when there is none or no memory. */
struct hew_arena *hew_arena_find(unsigned index);

/*
 * Gives back every object of an arena that a program made; destroy then gives back its address space and ends it.
 * `gone`, which may be NULL, is called for each large object before it goes.  False, nothing done: an automatic arena,
 * none, one that is being reset or destroyed, threads are bound to it (destroy), or the caller is inside a hook.
 */
typedef void (*hew_arena_gone)(struct hew_extent *extent);
bool hew_arena_reset(unsigned index, hew_arena_gone gone);
bool hew_arena_destroy(unsigned index, hew_arena_gone gone);

/* What the destroyed arenas counted, as one arena that has no number; NULL while there is none.  Its page counts are in
 * ->own_pages.counts, and its pools are empty. */
struct hew_arena *hew_arenas_destroyed(void);

/* In a fork's child, with the table's lock free: an arena that another thread was resetting or destroying can be destroyed
 * here; what it had in hand is lost. */
void hew_arena_life_after_fork(void);

/* A thread comes to allocate here, or leaves.  False: the arena is being destroyed. */
bool hew_arena_join(struct hew_arena *arena);
void hew_arena_leave(struct hew_arena *arena);

/* At most 31 characters are kept.  Reading fills `name` up with zeros. */
void hew_arena_set_name(struct hew_arena *arena, const char *name);
void hew_arena_get_name(struct hew_arena *arena, char name[HEW_ARENA_NAME_BYTES]);

/* Never NULL: the default table, or what the program set. */
struct hew_extent_hooks *hew_arena_hooks(struct hew_arena *arena);
/* Returns the former table. */
struct hew_extent_hooks *hew_arena_set_hooks(struct hew_arena *arena, struct hew_extent_hooks *hooks);

/* Decay times, from -1 on; setting one considers all that is idle as decayed.  `arena` NULL: of arenas made later. */
enum hew_decay_kind { HEW_DECAY_DIRTY, HEW_DECAY_MUZZY };
int64_t hew_arena_decay_ms(struct hew_arena *arena, enum hew_decay_kind kind);
void hew_arena_set_decay_ms(struct hew_arena *arena, enum hew_decay_kind kind, int64_t decay_ms);

/* Whether sbrk is asked; `arena` NULL: for arenas made later. */
enum hew_dss hew_arena_dss(struct hew_arena *arena);
void hew_arena_set_dss(struct hew_arena *arena, enum hew_dss dss);

/* Requests of that many bytes go to the arena of oversize requests, when the arena is automatic; in one that a program made,
 * memory that large goes to the system when it is freed.  0 and SIZE_MAX: none. */
size_t hew_arena_oversize_threshold(const struct hew_arena *arena);
void hew_arena_set_oversize_threshold(struct hew_arena *arena, size_t bytes);

/* The largest step in which address space is taken; rounded down to a size class.  False: less than a page. */
size_t hew_arena_retain_grow_limit(struct hew_arena *arena);
bool hew_arena_set_retain_grow_limit(struct hew_arena *arena, size_t bytes);

/* Nanoseconds since the arena was made. */
uint64_t hew_arena_uptime_ns(const struct hew_arena *arena);

/* Purges what decay says is due, or all that is idle; the slabs that bins keep without an object in them have come to the
 * other idle pages before. */
void hew_arena_decay(struct hew_arena *arena, bool all);

/* The same for every arena: first the slabs of all, since a slab's pages may be another arena's. */
void hew_arenas_decay(bool all);

#endif
