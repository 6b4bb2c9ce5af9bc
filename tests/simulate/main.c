/* SPDX-License-Identifier: MIT */
/*
 * simulate: runs seeds until so many operations or seconds have passed, or the first finding.
 *
 *     simulate [--operations N] [--seconds N] [--seed N] [--length N] [--control N] [--with SETTINGS] [--say] [--keep-going] [--no-shrink]
 *
 * --seed     the first one; with --operations 0 it is the only one
 * --length   operations of each thread in a run
 * --control  of the calls that are on no object only the N-th of controls.c, and that one often
 * --with     these settings in each run, besides those that the seed says
 */
#include "kernel.h"
#include "machine.h"
#include "objects.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SHRINK_TRIES 3000

struct wishes {
    uint64_t operations, seconds, seed;
    bool keep_going, shrink;
};

static uint64_t
seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

static void *
shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("simulate");
        exit(2);
    }
    return memory;
}

static void
read_number(const char *name, uint64_t value, struct wishes *wishes, struct run_plan *plan)
{
    if (strcmp(name, "--length") == 0) {
        plan->operations = value < RUN_OPERATIONS ? (uint32_t)value : RUN_OPERATIONS;
    } else if (strcmp(name, "--control") == 0) {
        plan->control = (uint32_t)value + 1;
    } else if (strcmp(name, "--operations") == 0) {
        wishes->operations = value;
    } else if (strcmp(name, "--seconds") == 0) {
        wishes->seconds = value;
    } else if (strcmp(name, "--page") == 0) {
        plan->page = (uint32_t)value;
    } else if (strcmp(name, "--seed") == 0) {
        wishes->seed = value;
    } else {
        fprintf(stderr, "simulate: what is %s?\n", name);
        exit(2);
    }
}

static void
read_arguments(int count, char **words, struct wishes *wishes, struct run_plan *plan)
{
    for (int i = 1; i < count; i++) {
        const char *next = i + 1 < count ? words[i + 1] : "0";
        if (strcmp(words[i], "--say") == 0) {
            plan->say = true;
        } else if (strcmp(words[i], "--keep-going") == 0) {
            wishes->keep_going = true;
        } else if (strcmp(words[i], "--no-shrink") == 0) {
            wishes->shrink = false;
        } else if (strcmp(words[i], "--with") == 0) {
            plan->settings = i + 1 < count ? words[++i] : NULL;
        } else {
            read_number(words[i], strtoull(next, NULL, 0), wishes, plan);
            i++;
        }
    }
}

static void
tell(const struct run_report *report, uint64_t runs, uint64_t seconds, uint64_t first, uint64_t found)
{
    printf("%llu operations, %llu runs, %llu findings (seeds %llu to %llu), %llu s: %llu changes of threads, %llu "
           "refusals, %llu forks, %llu threads ended, %llu objects checked\n",
           (unsigned long long)report->operations, (unsigned long long)runs, (unsigned long long)found,
           (unsigned long long)first, (unsigned long long)(first + runs - 1), (unsigned long long)seconds,
           (unsigned long long)report->switches, (unsigned long long)report->refusals,
           (unsigned long long)report->forks, (unsigned long long)report->thread_ends,
           (unsigned long long)report->checks);
}

int
main(int count, char **words)
{
    struct run_plan *plan = shared(sizeof *plan);
    struct run_report *report = shared(sizeof *report);
    struct wishes wishes = {.seed = 1, .shrink = true};
    plan->operations = 4000;
    read_arguments(count, words, &wishes, plan);
    machine_boot(24);
    kernel_boot();
    uint64_t begin = seconds_now(), runs = 0, found = 0;
    do {
        plan->seed = wishes.seed + runs++;
        if (!run_in_child(plan, report)) {
            found++;
            printf("seed %llu, thread %u, operation %u: %s\n  settings: %s\n", (unsigned long long)plan->seed,
                   report->at_thread, report->at_operation, report->finding, report->settings);
            fflush(stdout);
            if (wishes.shrink) {
                struct run_plan *small = shared(sizeof *small);
                *small = *plan;
                shrink(small, report, SHRINK_TRIES);
                printf("  %s\n", report->finding);
                munmap(small, sizeof *small);
            }
        }
    } while ((found == 0 || wishes.keep_going) &&
             (report->operations < wishes.operations || seconds_now() - begin < wishes.seconds));
    tell(report, runs, seconds_now() - begin, wishes.seed, found);
    return found == 0 ? 0 : 1;
}
