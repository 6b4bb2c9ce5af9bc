/* SPDX-License-Identifier: MIT */
/*
 * guard: hardening:sample.  Chooses which objects are guarded, and names each misuse of one of them.
 *
 *     cache counts down --> attend: credit left?  call site seldom seen?  --> a slot of its own (slots.h)
 *                                 no credit: hew_cache_guard_interval doubles
 *     the purger's thread --> round: credit for the time that has passed; the interval halves if too few objects came
 *     free --> checks the object's surroundings, closes its pages --> the slot waits
 *     access to closed pages --> a signal handler names the mistake, the object, and who allocated and freed it
 *
 * Owns      the credit, which grows by guard_rate objects a second, and the interval of the countdown.
 * Promises  malloc and free read no clock.  At most guard_rate objects a second are guarded, after the first ones, and
 *           none near a memory limit, in arenas that the program made, or with extent hooks.  An object has the usable
 *           size of its class.  One report for each distinct mistake.  Thread-safe.
 * Not here  counting down: cache/magazine.c.
 */
#ifndef HEW_GUARD_GUARD_H
#define HEW_GUARD_GUARD_H

#include "alloc/upcalls.h"
#include "guard/report.h"

/* Called once, with hardening:sample, after the settings were read. */
void hew_guard_boot(void);

/* hew_upcalls.attend, when HEW_DUE_GUARD has come: an object for a request of `size` bytes of class `code`, in place of
 * the one that the cache has; NULL: none. */
void *hew_guard_attend(struct hew_arena *arena, unsigned code, size_t size);

/* hew_upcalls.guard_free: returns the usable bytes of the object that is free now, 0 after a misuse. */
size_t hew_guard_free(const char *function, void *object);

/* hew_upcalls.guard_usable: 0 after a misuse. */
size_t hew_guard_usable(const char *function, const void *object);

/* Credits the time that has passed since the last call.  Returns milliseconds until the next call is useful, 0: not
 * before another object is due. */
uint64_t hew_guard_round(uint64_t now_ms);

/* The program has asked for the size of a class, and may use all bytes of an object. */
void hew_guard_trust_sizes(void);

/* guard_rate, which may change at any time: up to HEW_GUARD_RATE_MAX objects a second. */
#define HEW_GUARD_RATE_MAX 1000u
unsigned hew_guard_rate(void);
void hew_guard_set_rate(unsigned rate);

struct hew_guard_counts {
    uint64_t guarded;  /* objects so far */
    uint64_t passed;   /* objects that were due, at call sites that had been guarded often */
    uint64_t refused;  /* objects that were due, without credit or without a slot */
    uint64_t interval; /* of the countdown */
    uint64_t live, waiting;
    uint64_t found[HEW_GUARD_BUGS]; /* by enum hew_guard_bug, each time */
    uint64_t reported;              /* distinct ones */
};
struct hew_guard_counts hew_guard_counts(void);

#endif
