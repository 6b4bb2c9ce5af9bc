/* SPDX-License-Identifier: MIT */
/*
 * policy: the interface of a simulated allocation policy.
 *
 * A policy places objects in a virtual address space of its own, in which nothing is stored; only its bookkeeping is
 * real.  It counts its work in the steps of its textbook (list nodes visited, splits, merges), not in those of this
 * implementation.
 * Promises  a call that returns false has no memory left and changes nothing that matters: the simulation ends.
 * Not here  measurements: course.h.
 */
#ifndef HEW_TRACE_SIMULATE_POLICY_H
#define HEW_TRACE_SIMULATE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_QUANTUM UINT64_C(16)
#define POLICY_PAGE UINT64_C(4096)
#define POLICY_SIZE_MAX (UINT64_C(1) << 46) /* no real program's trace has larger requests: they are left out */
#define POLICY_LG_ALIGN_MAX 30              /* a larger alignment is replaced by this one */

/* An object's address and the memory it takes: its size rounded up, plus a header if the policy has one. */
struct policy_place {
    uint64_t address;
    uint64_t gross;
    uint64_t room;  /* bytes that the program could use */
    uint64_t owner; /* private to the policy */
};

struct policy;

struct policy_methods {
    const char *name;
    const char *about; /* one line */
    bool (*take)(struct policy *policy, uint64_t size, uint64_t align, struct policy_place *place);
    bool (*give)(struct policy *policy, const struct policy_place *place);
    void (*end)(struct policy *policy);
};

/* The first member of every policy's own struct. */
struct policy {
    const struct policy_methods *methods;
    uint64_t heap; /* bytes that it has from the system now */
    uint64_t work; /* steps so far */
};

/* Size classes: ascending sizes, and the slab bytes of each class.  Larger requests get whole pages. */
struct policy_classes {
    const char *name;
    const char *about;
    const uint64_t *sizes;
    const uint64_t *slabs;
    size_t count;
    uint64_t (*large)(uint64_t size); /* rounds larger requests, in whole pages, further; NULL: no rounding */
};

struct policy *policy_first_fit(void);
struct policy *policy_next_fit(void);
struct policy *policy_best_fit(void);
struct policy *policy_worst_fit(void);
struct policy *policy_binary_buddy(void);
struct policy *policy_fibonacci_buddy(void);
/* `classes` must outlive the policy. */
struct policy *policy_segregated(const struct policy_classes *classes);

static inline uint64_t
policy_round_up(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

#endif
