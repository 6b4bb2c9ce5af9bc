/* SPDX-License-Identifier: MIT */
/*
 * shrink: from a long history that fails to a short one that fails in the same way: first what the machine did, then whole
 * threads, then operations, half of them at a time, a quarter, and so on.
 */
#include "run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECONDS_MOST 60

static char kind[24]; /* of finding: up to its colon */
static unsigned tries_left;
static time_t deadline;
static struct run_plan trial;

static void
kind_of(const char *finding, char *word)
{
    size_t length = strcspn(finding, ":");
    length = length < sizeof kind - 1 ? length : sizeof kind - 1;
    memcpy(word, finding, length);
    word[length] = '\0';
}

/* The trial fails as the plan did: it is the plan from now on. */
static bool
keep_if_it_fails(struct run_plan *plan, struct run_report *report)
{
    char word[sizeof kind];
    if (tries_left == 0 || time(NULL) > deadline) {
        return false;
    }
    tries_left--;
    if (run_in_child(&trial, report)) {
        return false;
    }
    kind_of(report->finding, word);
    if (strcmp(word, kind) != 0) {
        return false;
    }
    *plan = trial;
    return true;
}

static void
leave_out(struct run_plan *plan, unsigned thread, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        plan->left_out[thread][i / 8] |= (uint8_t)(1u << i % 8);
    }
}

static bool
says_nothing(const struct run_plan *plan, unsigned thread, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        if ((plan->left_out[thread][i / 8] >> i % 8 & 1) == 0) {
            return false;
        }
    }
    return true;
}

static void
without_machine(struct run_plan *plan, struct run_report *report)
{
    trial = *plan;
    trial.no_refusals = true;
    keep_if_it_fails(plan, report);
    trial = *plan;
    trial.ordered_stores = true;
    keep_if_it_fails(plan, report);
    trial = *plan;
    trial.no_preemption = true;
    keep_if_it_fails(plan, report);
}

static void
without_some(struct run_plan *plan, struct run_report *report, unsigned thread, uint32_t step)
{
    for (uint32_t from = 0; from < plan->operations; from += step) {
        uint32_t to = from + step < plan->operations ? from + step : plan->operations;
        if (!says_nothing(plan, thread, from, to)) {
            trial = *plan;
            leave_out(&trial, thread, from, to);
            keep_if_it_fails(plan, report);
        }
    }
}

static void
without_operations(struct run_plan *plan, struct run_report *report)
{
    for (uint32_t step = plan->operations; step > 0; step /= 2) {
        for (unsigned thread = 0; thread < RUN_THREADS; thread++) {
            without_some(plan, report, thread, step);
        }
    }
}

void
shrink(struct run_plan *plan, struct run_report *report, unsigned tries)
{
    kind_of(report->finding, kind);
    tries_left = tries;
    deadline = time(NULL) + SECONDS_MOST;
    uint32_t last[RUN_THREADS];
    memcpy(last, report->last, sizeof last);
    trial = *plan;
    for (unsigned thread = 0; thread < RUN_THREADS; thread++) { /* nothing after the failure has a part in it */
        leave_out(&trial, thread, last[thread] + 1, plan->operations);
    }
    keep_if_it_fails(plan, report);
    without_machine(plan, report);
    without_operations(plan, report);
    without_machine(plan, report);
    printf("shrunk, after %u runs%s%s%s:\n", tries - tries_left, plan->no_refusals ? ", nothing refused" : "",
           plan->no_preemption ? ", threads lose the processor in system calls only" : "",
           plan->ordered_stores ? ", stores in order" : "");
    plan->say = true;
    run_in_child(plan, report);
    plan->say = false;
}
