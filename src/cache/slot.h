/* SPDX-License-Identifier: MIT */
/*
 * slot: free objects at hand, as addresses, and the two operations that all speed rests on.
 *
 * For each class code an array.  Objects themselves are never read or written here.
 *
 *     | NULL | oldest | ... | newest |  unused  | ... | NULL |
 *              begin                   top              limit
 *
 *     pop   takes the word below top unless it is NULL: "empty"
 *     push  stores at top unless NULL is there: "full".  An unused word is never NULL
 *
 * One word a class says all: `top`, as bytes from the slot's second word.  0 leads to two words that are always NULL, so the class is
 * empty and full at once: it has no array, or some thread works on it.  Such a thread *closes* a class by storing 0, owns array and
 * bounds, and opens the class by storing another top.
 *
 * Two ways to own a slot.  Where restartable sequences work, each running thread uses the slot of its concurrency number
 * (mm_cid): base + number * 4096.  Both operations are then restartable sequences: the kernel restarts one that is interrupted,
 * so no atomics are needed.  Otherwise, and for a thread with a slot of its own, the number is read from an area where it is always 0.
 */
#ifndef HEW_CACHE_SLOT_H
#define HEW_CACHE_SLOT_H

#include "base/compiler.h"
#include "base/size_class.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What has happened to a class since it was last looked after: hew_slot_class.flags. */
enum {
    HEW_CLASS_EMPTIED = 1, /* it was found empty last, */
    HEW_CLASS_FILLED = 2,  /* or full */
    HEW_CLASS_MISSED = 4,
};

#define HEW_SLOT_CHOSEN 0x8000u /* in a limit: the user has set it */

struct hew_slot {
    uintptr_t none[2]; /* always 0: where a top of 0 leads */
    char area[32];     /* of a thread that owns the slot: an unregistered struct rseq */
    uintptr_t top[HEW_CODES];
    uintptr_t begin[HEW_CODES]; /* of the array, as a top; 0: there is none */
    uintptr_t limit[HEW_CODES];
    /* What follows is for slow paths.  A slot of a CPU may be used by two threads in turns, so these are hints, but for what the
     * mark guards. */
    struct hew_slot_class {
        uint16_t capacity; /* objects; the mark */
        uint8_t flags;     /* HEW_CLASS_... */
        uint8_t earned;    /* misses since it grew last, or found no room */
        uint8_t seen;      /* what it held when it was looked after last, modulo 256 */
    } classes[HEW_CODES];
    _Atomic uint32_t held; /* the mark: 1 while a thread changes capacities, or empties the slot from outside */
    uint32_t misses;
    const uint16_t *most; /* by class: objects that may be held at most; NULL: the slot was never used */
    size_t granted;       /* bytes that full arrays would hold; the mark */
    size_t share;         /* and may; as of a moment ago */
    uintptr_t seen;       /* a sum of the tops and misses at the last pass of the purger */
    uint16_t depot;
    uint8_t sweep;    /* the next class to look after */
    uint8_t answered; /* hew_page_bound.calls as seen last */
    bool shared;      /* a CPU's */
    bool direct;      /* no depot lies between it and the arenas */
} HEW_ALIGNED(HEW_CACHE_LINE);

/* Which slot a thread uses. */
struct hew_where {
    char *base;
    char *area; /* struct rseq; an unregistered one, with number 0: base is the thread's own slot */
};

extern HEW_HIDDEN _Atomic unsigned
    hew_slot_count; /* of CPUs' slots; 0: every thread owns one.  Relaxed, but for the mark */

#define HEW_LG_SLOT 12 /* log2 of the distance of CPUs' slots */
_Static_assert(sizeof(struct hew_slot) <= (size_t)1 << HEW_LG_SLOT, "slots do not overlap");

enum { HEW_PUSH_DONE, HEW_PUSH_FULL, HEW_PUSH_TWICE };

/* The word that a top leads to. */
HEW_INLINE void **
hew_slot_word(const struct hew_slot *slot, uintptr_t top)
{
    return (void **)((uintptr_t)&slot->none[1] + top);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(HEW_NO_RSEQ)
#define HEW_SLOT_RSEQ 1
#include "cache/slot_x86_64.h"
#else
#define HEW_SLOT_RSEQ 0

HEW_INLINE struct hew_slot *
hew_slot_here(const struct hew_where *where)
{
    return (struct hew_slot *)where->base;
}

HEW_INLINE void *
hew_slot_peek(const struct hew_where *where, size_t code)
{
    const struct hew_slot *slot = (const struct hew_slot *)where->base;
    return hew_slot_word(slot, slot->top[code])[-1];
}

HEW_INLINE void *
hew_slot_pop(const struct hew_where *where, size_t code)
{
    struct hew_slot *slot = (struct hew_slot *)where->base;
    void **word = hew_slot_word(slot, slot->top[code]), *object = word[-1];
    if (HEW_LIKELY(object != NULL)) {
        slot->top[code] -= sizeof *word;
    }
    return object;
}

HEW_INLINE int
hew_slot_push(const struct hew_where *where, size_t code, void *object)
{
    struct hew_slot *slot = (struct hew_slot *)where->base;
    void **word = hew_slot_word(slot, slot->top[code]);
    if (HEW_UNLIKELY(*word == NULL)) {
        return HEW_PUSH_FULL;
    }
    if (HEW_UNLIKELY(word[-1] == object)) {
        return HEW_PUSH_TWICE;
    }
    *word = object;
    slot->top[code] += sizeof *word;
    return HEW_PUSH_DONE;
}

HEW_INLINE unsigned
hew_slot_pop_some(const struct hew_where *where, size_t code, void **objects, unsigned most)
{
    struct hew_slot *slot = (struct hew_slot *)where->base;
    uintptr_t top = slot->top[code];
    unsigned depth = top == 0 ? 0 : (unsigned)((top - slot->begin[code]) / sizeof *objects);
    unsigned count = depth < most ? depth : most;
    slot->top[code] = top - count * sizeof *objects;
    memcpy(objects, hew_slot_word(slot, slot->top[code]), count * sizeof *objects);
    return count;
}

HEW_INLINE unsigned
hew_slot_push_some(const struct hew_where *where, size_t code, void *const *objects, unsigned most)
{
    struct hew_slot *slot = (struct hew_slot *)where->base;
    uintptr_t top = slot->top[code];
    unsigned left = top == 0 ? 0 : (unsigned)((slot->limit[code] - top) / sizeof *objects);
    unsigned count = left < most ? left : most;
    memcpy(hew_slot_word(slot, top), objects, count * sizeof *objects);
    slot->top[code] = top + count * sizeof *objects;
    return count;
}

HEW_INLINE bool
hew_slot_close_here(const struct hew_where *where, const struct hew_slot *slot, size_t code, uintptr_t *top)
{
    (void)where;
    (void)slot;
    (void)code;
    (void)top;
    return false;
}
#endif

/* Both operations as functions, for slow paths. */
void *hew_slot_take(const struct hew_where *where, size_t code);
int hew_slot_put(const struct hew_where *where, size_t code, void *object);

/* Before the first thread: the CPUs' slots, where restartable sequences work. */
void hew_slot_boot(void);

/* The calling thread uses the CPUs' slots; where it cannot, hew_slot_none. */
struct hew_where hew_slot_shared(void);

HEW_INLINE struct hew_where
hew_slot_alone(struct hew_slot *slot)
{
    return (struct hew_where){(char *)slot, slot->area};
}

/* From now on no thread calls membarrier, which a filter to come may punish. */
void hew_slot_bar_no_more(void);

/* From now on every thread owns a slot, and the CPUs' are empty for good: a program makes an arena, whose objects may not come to
 * threads that know nothing of it.  False: the system refuses the barrier; everything is as before. */
bool hew_slot_abandon(void);

/* Sets up a slot, which is all zeros, with these limits. */
void hew_slot_begin(struct hew_slot *slot, const uint16_t *most);

/* Gives the class an array of a new capacity, 0: none; its objects stay in order.  False: they do not fit, there is no memory, or
 * another thread is at work on the slot; nothing has changed. */
bool hew_slot_set(struct hew_slot *slot, unsigned code, size_t capacity);

/* Everything in CPUs' slots goes to its owners; without `all` only what is in slots that were not used since the last call.  With
 * `all` it waits for a thread that is at work on a slot, unless the caller holds a mark itself.  True: some slots are not empty. */
bool hew_slot_drain(bool all);

/* The same for one slot; it has no arrays afterwards.  False: another thread is at work on it, or the system refuses the
 * barrier. */
bool hew_slot_empty(struct hew_slot *slot);

size_t hew_slot_depth(const struct hew_slot *slot, unsigned code);

/* Whether the slot holds the object, which no thread frees meanwhile.  False also while another thread is at work on the slot. */
bool hew_slot_holds(struct hew_slot *slot, unsigned code, const void *object);

/* Objects of a class in all CPUs' slots, and bytes. */
size_t hew_slot_held(unsigned code);

/* How many CPUs' slots were ever used. */
unsigned hew_slot_used(void);

/* Once the gate is closed: returns when no other thread works on a slot.  Not in a handler that has interrupted such work. */
void hew_slot_settle(void);

/* In a fork's child: classes that were being changed begin anew; what they held is lost to the child. */
void hew_slot_after_fork(void);

#endif
