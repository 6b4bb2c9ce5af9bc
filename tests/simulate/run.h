/* SPDX-License-Identifier: MIT */
/*
 * run: one seed: one short life of a simulated program, in a process of its own.
 *
 * What operation k of thread t does is drawn from (seed, t, k) alone, so that leaving one out changes the others only by
 * what it did to memory.  That is what shrink.c works with.
 */
#ifndef HEW_SIMULATE_RUN_H
#define HEW_SIMULATE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_THREADS 12
#define RUN_OPERATIONS 32768 /* of a thread, at most */

struct run_plan {
    uint64_t seed;
    uint32_t operations;    /* of each thread */
    uint32_t threads, page; /* 0: as the seed says */
    bool no_refusals, no_preemption, ordered_stores, say;
    const char *settings; /* besides what the seed says, or NULL */
    uint32_t control;     /* + 1: of the calls in controls.c only this one, and that often; 0: all */
    uint8_t left_out[RUN_THREADS][RUN_OPERATIONS / 8]; /* a bit an operation */
};

/* What a run leaves behind: shared with the process that started it. */
struct run_report {
    char finding[512];
    char settings[512];
    uint32_t last[RUN_THREADS]; /* operations that each thread has begun */
    uint32_t at_thread, at_operation;
    uint32_t history_length;
    uint64_t operations, switches, refusals, forks, thread_ends, checks;
};

extern const struct run_plan *run_plan;
extern struct run_report *run_report;

/* Runs the plan in a child; true: nothing was found. */
bool run_in_child(const struct run_plan *plan, struct run_report *report);

static inline bool
run_leaves_out(unsigned thread, uint32_t operation)
{
    return (run_plan->left_out[thread][operation / 8] >> operation % 8 & 1) != 0;
}

/* Smaller and smaller plans that fail with the same finding; prints the last one's history. */
void shrink(struct run_plan *plan, struct run_report *report, unsigned tries);

#endif
