/* SPDX-License-Identifier: MIT */
/*
 * hew-simulate: simulates a trace under textbook policies, hew's and jemalloc's size classes, or any others.
 *
 *     hew-simulate TRACE [--policy NAME]... [--classes NAME=SIZE,SIZE,...]... | --sizes
 *     hew-simulate --tables
 *
 * Writes one JSON document.  HEW_SIMULATE_PROGRESS=1 in the environment: also a progress line on standard error each
 * 250,000 operations.  Exit status 1 with one line on standard error: the trace cannot be read, or a word is wrong.
 */
#include "simulate/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BETWEEN_PROGRESS (UINT64_C(1) << 18)

struct known {
    const char *name;
    struct policy *(*make)(void);
    struct policy_classes *(*classes)(void);
};

static struct policy_classes *
hew(void)
{
    return classes_hew(false);
}

static struct policy_classes *
hew_fine(void)
{
    return classes_hew(true);
}

static const struct known known[] = {
    {"first-fit", policy_first_fit, NULL},
    {"next-fit", policy_next_fit, NULL},
    {"best-fit", policy_best_fit, NULL},
    {"worst-fit", policy_worst_fit, NULL},
    {"binary-buddy", policy_binary_buddy, NULL},
    {"fibonacci-buddy", policy_fibonacci_buddy, NULL},
    {"slab", NULL, classes_slab},
    {"powers", NULL, classes_powers},
    {"jemalloc", NULL, classes_jemalloc},
    {"hew", NULL, hew},
    {"hew-fine", NULL, hew_fine},
};

/* Created tables, freed at the end. */
static struct policy_classes *tables[COURSE_POLICIES];
static size_t table_count;

static bool
add_classes(struct course *course, struct policy_classes *classes)
{
    if (classes == NULL || course->count == COURSE_POLICIES) {
        classes_end(classes);
        return false;
    }
    tables[table_count++] = classes;
    return course_add(course, policy_segregated(classes));
}

/* Adds the policy of a name, or all policies for NULL.  False: the name is unknown, or there are too many. */
static bool
add_known(struct course *course, const char *name)
{
    bool found = false;

    for (size_t at = 0; at < sizeof(known) / sizeof(known[0]); at++) {
        if (name == NULL || strcmp(name, known[at].name) == 0) {
            found = true;
            if (known[at].make != NULL ? !course_add(course, known[at].make())
                                       : !add_classes(course, known[at].classes())) {
                return false;
            }
        }
    }
    return found;
}

static bool
read_words(struct course *course, int count, char **words, bool *sizes, char why[HEW_TRACE_WHY])
{
    bool named = false;

    for (int at = 2; at < count; at++) {
        if (strcmp(words[at], "--sizes") == 0) {
            *sizes = true;
        } else if (strcmp(words[at], "--policy") == 0 && at + 1 < count) {
            named = true;
            if (!add_known(course, words[++at])) {
                snprintf(why, HEW_TRACE_WHY, "--policy %.60s: there is no such policy, or too many are asked for",
                         words[at]);
                return false;
            }
        } else if (strcmp(words[at], "--classes") == 0 && at + 1 < count) {
            snprintf(why, HEW_TRACE_WHY, "too many policies are asked for");
            if (!add_classes(course, classes_of_text(words[++at], why, HEW_TRACE_WHY))) {
                return false;
            }
        } else {
            snprintf(why, HEW_TRACE_WHY, "%.60s: TRACE [--policy NAME]... [--classes NAME=SIZE,SIZE,...]... | --sizes",
                     words[at]);
            return false;
        }
    }
    snprintf(why, HEW_TRACE_WHY, "no memory");
    return *sizes || named || add_known(course, NULL);
}

/* Prints the progress, the policy with the lowest peak so far, that peak, and the peak of live bytes. */
static void
tell_progress(const struct course *course)
{
    const struct course_runner *best = NULL;

    for (size_t at = 0; at < course->count; at++) {
        const struct course_runner *one = &course->runners[at];
        if (!one->failed && (best == NULL || one->peak_heap < best->peak_heap)) {
            best = one;
        }
    }
    if (best != NULL) {
        fprintf(stderr, "progress %" PRIu64 " %s %" PRIu64 " %" PRIu64 "\n", course->now.operation,
                best->policy->methods->name, best->peak_heap, course->peak_live);
    }
}

static bool
run(struct course *course, const struct hew_trace *trace, bool by_size)
{
    uint64_t next = getenv("HEW_SIMULATE_PROGRESS") != NULL ? BETWEEN_PROGRESS : UINT64_MAX; /* to print next */
    static struct hew_trace_operation operation;
    struct hew_trace_merge merge;
    struct sizes sizes = {0};
    bool good = hew_trace_merge_begin(&merge, trace) && (!by_size || sizes_begin(&sizes));

    while (good && hew_trace_merge_next(&merge, &operation)) {
        if (by_size) {
            good = sizes_take(&sizes, &operation);
        } else {
            course_take(course, &operation);
            if (course->now.operation >= next) {
                tell_progress(course);
                next += BETWEEN_PROGRESS;
            }
        }
    }
    good = good && !merge.failed;
    if (good && by_size) {
        sizes_finish(&sizes);
        report_sizes(&sizes, trace, &merge);
    } else if (good) {
        course_finish(course);
        report_course(course, trace, &merge);
    }
    if (by_size) {
        sizes_end(&sizes);
    }
    hew_trace_merge_end(&merge);
    return good;
}

/* A hostile trace has an object in each byte: the limit makes allocation fail before the machine's memory is used
 * up. */
static void
limit_memory(void)
{
    struct rlimit limit;
    rlim_t most = (rlim_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (rlim_t)sysconf(_SC_PAGESIZE);

    if (getrlimit(RLIMIT_AS, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most)) {
        limit.rlim_cur = most;
        setrlimit(RLIMIT_AS, &limit);
    }
}

int
main(int count, char **words)
{
    static struct course course;
    struct hew_trace trace;
    char why[HEW_TRACE_WHY] = "TRACE [--policy NAME]... [--classes NAME=SIZE,SIZE,...]... | --sizes";
    bool sizes = false, good;

    if (count == 2 && strcmp(words[1], "--tables") == 0) {
        report_tables();
        return 0;
    }
    good = count > 1 && read_words(&course, count, words, &sizes, why);

    limit_memory();
    if (good && (good = hew_trace_open_file(&trace, words[1], why))) {
        snprintf(why, sizeof(why), "no memory");
        good = run(&course, &trace, sizes);
        hew_trace_close(&trace);
    }
    course_end(&course);
    while (table_count > 0) {
        classes_end(tables[--table_count]);
    }
    if (!good) {
        fprintf(stderr, "hew-simulate: %s\n", why);
    }
    return good ? 0 : 1;
}
