/* SPDX-License-Identifier: MIT */
/*
 * slot: free objects at hand, as addresses, and the two operations that all speed rests on.
 *
 * For each class code an array.  Objects themselves are never read or written here.
 *
 *     begin[c] - 1   begin[c]            top[c]            limit[c]
 *     | NULL       | oldest | ... newest | (free ...)      |
 *
 *     pop   takes top[c][-1] unless top[c] <= begin[c], "empty"
 *     push  stores at top[c] unless top[c] >= limit[c], "full"
 *
 * A class without an array is all zeros: empty and full at once.  A class that another thread works on is closed: begin is the
 * highest address and limit 0, so both operations fail.
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

/* What has happened to a class since it was last looked after: hew_slot_class.flags. */
enum {
    HEW_CLASS_EMPTIED = 1, /* it was found empty last, */
    HEW_CLASS_FILLED = 2,  /* or full */
    HEW_CLASS_MISSED = 4,
};

#define HEW_SLOT_CHOSEN 0x8000u /* in a limit: the user has set it */

struct hew_slot {
    void **top[HEW_CODES];
    void **begin[HEW_CODES];
    void **limit[HEW_CODES];
    /* What follows is for slow paths.  A slot of a CPU may be used by two threads in turns, so these are hints, but for what the
     * mark guards. */
    struct hew_slot_class {
        uint16_t capacity; /* objects; the mark */
        uint8_t flags;     /* HEW_CLASS_... */
        uint8_t earned;    /* misses since it grew last, or found no room */
        uint8_t seen;      /* what it held when it was looked after last, modulo 256 */
    } classes[HEW_CODES];
    _Atomic uint32_t held;  /* the mark: 1 while a thread changes capacities, or empties the slot from outside */
    uint32_t misses;
    const uint16_t *most;   /* by class: objects that may be held at most; NULL: the slot was never used */
    size_t granted;         /* bytes that full arrays would hold; the mark */
    size_t share;           /* and may; as of a moment ago */
    uintptr_t seen;         /* a sum of the tops and misses at the last pass of the purger */
    uint16_t depot;
    uint8_t sweep;          /* the next class to look after */
    uint8_t answered;       /* hew_page_bound.calls as seen last */
    bool shared;            /* a CPU's */
    bool direct;            /* no depot lies between it and the arenas */
} HEW_ALIGNED(HEW_CACHE_LINE);

/* Which slot a thread uses. */
struct hew_where {
    char *base;
    char *area; /* struct rseq; an unregistered one, with number 0: base is the thread's own slot */
};

extern HEW_HIDDEN struct hew_slot hew_slot_none; /* empty and full for ever */
extern HEW_HIDDEN unsigned hew_slot_count;      /* of CPUs' slots; 0: no restartable sequences */
extern HEW_HIDDEN char hew_slot_no_area[32];

#ifdef PC_DEBUG
extern _Atomic long pc_count[16];
#define PC(i, n) (pc_count[i] += (n))
#else
#define PC(i, n) ((void)0)
#endif
#define HEW_LG_SLOT 12 /* log2 of the distance of CPUs' slots */
_Static_assert(sizeof(struct hew_slot) <= (size_t)1 << HEW_LG_SLOT, "slots do not overlap");

enum { HEW_PUSH_DONE, HEW_PUSH_FULL, HEW_PUSH_TWICE };

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
    return slot->top[code] <= slot->begin[code] ? NULL : slot->top[code][-1];
}

HEW_INLINE void *
hew_slot_pop(const struct hew_where *where, size_t code)
{
    struct hew_slot *slot = (struct hew_slot *)where->base;
    void **top = slot->top[code];
    if (HEW_UNLIKELY(top <= slot->begin[code])) {
        return NULL;
    }
    slot->top[code] = top - 1;
    return top[-1];
}

HEW_INLINE int
hew_slot_push(const struct hew_where *where, size_t code, void *object)
{
    struct hew_slot *slot = (struct hew_slot *)where->base;
    void **top = slot->top[code];
    if (HEW_UNLIKELY(top >= slot->limit[code])) {
        return HEW_PUSH_FULL;
    }
    if (HEW_UNLIKELY(top[-1] == object)) {
        return HEW_PUSH_TWICE;
    }
    *top = object;
    slot->top[code] = top + 1;
    return HEW_PUSH_DONE;
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
    return (struct hew_where){(char *)slot, hew_slot_no_area};
}

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
