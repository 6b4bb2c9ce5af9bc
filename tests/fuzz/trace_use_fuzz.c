/* SPDX-License-Identifier: MIT */
/*
 * trace_use_fuzz: what is done with traces, under arbitrary bytes: finish, plan, profile, simulate.
 *
 * Holds that finishing a trace changes no operation, that a plan names no slot and no window that it does not have, and that no policy
 * reads or writes outside of what is its own.  Memory is bounded by the file's size.  Inputs: trace_inputs.c.
 */
#include "format/finish.h"
#include "fuzz/replay.h"
#include "profile/profile.h"
#include "replay/plan.h"
#include "simulate/classes.h"
#include "simulate/course.h"
#include "simulate/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void
require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* A number that stands for all operations in their order. */
static uint64_t
sum_of(const struct hew_trace *trace)
{
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    uint64_t sum = trace->thread_count;

    require(hew_trace_merge_begin(&merge, trace), "no memory");
    while (hew_trace_merge_next(&merge, &operation)) {
        bool ends = operation.kind == HEW_TRACE_DID_FREE || operation.kind == HEW_TRACE_DID_REALLOCATE;
        bool makes = operation.kind == HEW_TRACE_DID_ALLOCATE || operation.kind == HEW_TRACE_DID_REALLOCATE;
        sum = sum * 31 + operation.kind + operation.thread;
        sum = sum * 31 + (ends ? operation.ended.number : 0) + (makes ? operation.size + operation.made.number : 0);
    }
    sum = sum * 31 + merge.unknown;
    require(!merge.failed, "no memory amid the order");
    hew_trace_merge_end(&merge);
    return sum;
}

static void
use_profile(const struct hew_trace *trace)
{
    struct profile_options options = {.within = 1, .at = {0, 1000}, .at_count = 2, .over_time = true};
    char why[HEW_TRACE_WHY];
    FILE *nowhere = fopen("/dev/null", "w");

    require(nowhere != NULL && profile_write(trace, &options, nowhere, why), "no profile");
    options.by_thread = true;
    require(profile_write(trace, &options, nowhere, why), "no profile by thread");
    fclose(nowhere);
}

static void
use_finish(uint8_t *bytes, size_t size, const struct hew_trace *trace)
{
    struct hew_trace finished;
    char why[HEW_TRACE_WHY];
    uint64_t before = sum_of(trace);

    hew_trace_finish(bytes, size);
    require(hew_trace_finish(bytes, size) == 0, "a block was still open after the trace was finished");
    require(hew_trace_open(&finished, bytes, size, why), "a finished trace cannot be opened");
    require(finished.damaged == trace->damaged && finished.part_count == trace->part_count, "finishing lost a block");
    require(sum_of(&finished) == before, "finishing changed an operation");
    hew_trace_close(&finished);
}

/* The words that stand behind one, which are not words of their own. */
static size_t
read_word(const struct hew_plan *plan, uint64_t word)
{
    switch (HEW_PLAN_KIND(word)) {
    case HEW_PLAN_BATCH:
        require(HEW_PLAN_VALUE(word) < plan->windows, "a batch is in no window");
        return 1;
    case HEW_PLAN_MALLOC:
    case HEW_PLAN_CALLOC:
    case HEW_PLAN_FREE:
        require(HEW_PLAN_SLOT(word) < plan->slots, "a word names no slot");
        return 0;
    case HEW_PLAN_ALIGNED:
    case HEW_PLAN_REALLOC:
        require(HEW_PLAN_SLOT(word) < plan->slots, "a word names no slot");
        return 1;
    case HEW_PLAN_LARGE:
    case HEW_PLAN_TOUCH:
        return 0;
    default:
        require(false, "a word of no kind");
        return 0;
    }
}

static void
read_plan(const uint8_t *bytes, size_t size)
{
    const struct hew_plan *plan = (const void *)bytes;
    const struct hew_plan_thread *threads = (const void *)(plan + 1);

    for (uint32_t thread = 0; thread < plan->threads; thread++) {
        const uint64_t *words = (const void *)(bytes + threads[thread].offset);
        size_t count = threads[thread].words, at = 0;
        require(threads[thread].offset % 8 == 0 && threads[thread].offset + count * 8 <= size, "words lie outside");
        while (at < count - 1) {
            at += 1 + read_word(plan, words[at]);
        }
        require(at == count - 1 && words[at] == HEW_PLAN_END, "a thread has no end");
    }
}

static void
use_plan(const struct hew_trace *trace)
{
    struct hew_plan plan;
    char why[HEW_TRACE_WHY];
    int file = memfd_create("plan", MFD_CLOEXEC);
    off_t size;
    uint8_t *bytes;

    require(file >= 0, "no file in memory");
    if (hew_plan_make(trace, file, &plan, why)) {
        size = lseek(file, 0, SEEK_END);
        bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0);
        require(bytes != MAP_FAILED, "the plan cannot be mapped");
        read_plan(bytes, (size_t)size);
        munmap(bytes, (size_t)size);
    } else {
        require(strchr(why, '\n') == NULL && why[0] != '\0', "a refusal is not one line");
    }
    close(file);
}

static void
use_simulation(const struct hew_trace *trace)
{
    static struct course course;
    struct policy_classes *tables[] = {classes_hew(false), classes_jemalloc(), classes_slab(), classes_powers()};
    struct sizes sizes;
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;

    course = (struct course){0};
    require(course_add(&course, policy_first_fit()) && course_add(&course, policy_best_fit()) &&
                course_add(&course, policy_next_fit()) && course_add(&course, policy_binary_buddy()) &&
                course_add(&course, policy_fibonacci_buddy()),
            "no memory");
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        require(course_add(&course, policy_segregated(tables[i])), "no memory");
    }
    require(sizes_begin(&sizes) && hew_trace_merge_begin(&merge, trace), "no memory");
    while (hew_trace_merge_next(&merge, &operation)) {
        course_take(&course, &operation);
        require(sizes_take(&sizes, &operation), "no memory");
    }
    course_finish(&course);
    sizes_finish(&sizes);
    for (size_t i = 0; i < course.count; i++) {
        const struct course_runner *runner = &course.runners[i];
        require(runner->failed || runner->now.gross <= runner->now.heap, "a heap is smaller than what lies in it");
    }
    hew_trace_merge_end(&merge);
    sizes_end(&sizes);
    course_end(&course);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        classes_end(tables[i]);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hew_trace trace;
    char why[HEW_TRACE_WHY];
    uint8_t *copy = malloc(size + 1), *finished = malloc(size + 1); /* of its own size, for AddressSanitizer */

    require(copy != NULL && finished != NULL, "no memory");
    memcpy(copy, data, size);
    memcpy(finished, data, size);
    if (hew_trace_open(&trace, copy, size, why)) {
        use_finish(finished, size, &trace);
        use_plan(&trace);
        use_profile(&trace);
        use_simulation(&trace);
        hew_trace_close(&trace);
    }
    free(copy);
    free(finished);
    return 0;
}
