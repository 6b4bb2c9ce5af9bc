/* SPDX-License-Identifier: MIT */
/*
 * hew-replay: what `hew replay` runs.
 *
 *     hew-replay plan TRACE PLAN                                   makes a plan; prints the trace's figures, NAME VALUE
 *     hew-replay finish TRACE                                      closes the blocks that a recording left open
 *     hew-replay list TRACE                                        its operations as text, in one order
 *     hew-replay profile TRACE [within=N] [at=MICROSECONDS]... [over-time] [by-thread]  memory by stack, as JSON lines
 *     hew-replay run PLAN none|first|recorded|pages|all fast|real [SAMPLES]    runs it; prints its costs, likewise
 *
 * A separate program, so that an allocator can be preloaded and the heap has nothing else.  Exits 2, with one
 * line on stderr, if it cannot read the trace.
 */
#include "format/finish.h"
#include "profile/profile.h"
#include "replay/plan.h"
#include "replay/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int
refuse(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    return 2;
}

static int
make_plan(const char *from, const char *to)
{
    struct hew_trace trace;
    struct hew_plan plan;
    char why[HEW_TRACE_WHY];
    bool made;
    int file;

    if (!hew_trace_open_file(&trace, from, why)) {
        return refuse(from, why);
    }
    file = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) {
        return refuse(to, strerror(errno));
    }
    made = hew_plan_make(&trace, file, &plan, why);
    close(file);
    if (!made) {
        return refuse(from, why);
    }
    printf("threads %" PRIu32 "\noperations %" PRIu64 "\nallocations %" PRIu64 "\nrequested %" PRIu64 "\n",
           plan.threads, plan.operations, plan.allocations, plan.requested);
    printf("live_bytes %" PRIu64 "\nlive_objects %" PRIu64 "\nmicroseconds %" PRIu64 "\nbatches %" PRIu64 "\n",
           plan.live_bytes, plan.live_objects, plan.microseconds, plan.batches);
    printf("unknown %" PRIu64 "\ndamaged %" PRIu64 "\nmissing %" PRIu64 "\ncut_off %" PRIu64 "\nflags %" PRIu64 "\n",
           plan.unknown, plan.damaged, plan.missing, plan.cut_off, plan.flags);
    hew_trace_close(&trace);
    return 0;
}

/* Prints the stack of the thread's following allocations. */
static void
print_node(const struct hew_trace *trace, uint32_t thread, uint32_t node)
{
    printf("%" PRIu32 " stack", thread);
    for (; node != 0; node = trace->nodes[node].parent) {
        printf(" 0x%" PRIx64, trace->nodes[node].address);
    }
    printf("\n");
}

static void
print_operation(const struct hew_trace *trace, const struct hew_trace_operation *operation)
{
    uint32_t thread = operation->thread;

    switch (operation->kind) {
    case HEW_TRACE_DID_ALLOCATE:
        printf("%" PRIu32 " %s %" PRIu64, thread, operation->zeroed ? "calloc" : "malloc", operation->size);
        if (operation->lg_align != 0) {
            printf(" align %" PRIu64, UINT64_C(1) << operation->lg_align);
        }
        printf(" = %" PRIu32 ".%" PRIu64 "\n", thread, operation->made.number);
        break;
    case HEW_TRACE_DID_FREE:
        printf("%" PRIu32 " free %" PRIu32 ".%" PRIu64 "\n", thread, operation->ended.thread, operation->ended.number);
        break;
    case HEW_TRACE_DID_REALLOCATE:
        printf("%" PRIu32 " realloc %" PRIu32 ".%" PRIu64 " %" PRIu64 " = %" PRIu32 ".%" PRIu64 "\n", thread,
               operation->ended.thread, operation->ended.number, operation->size, thread, operation->made.number);
        break;
    case HEW_TRACE_DID_TOUCH:
        printf("%" PRIu32 " touched %" PRIu32 ".%" PRIu64 " %" PRIu64 " pages\n", thread, operation->ended.thread,
               operation->ended.number, operation->size);
        break;
    case HEW_TRACE_DID_NODE:
        print_node(trace, thread, operation->node);
        break;
    case HEW_TRACE_DID_STACK:
        printf("%" PRIu32 " stack", thread);
        for (uint32_t i = 0; i < operation->frame_count; i++) {
            printf(" 0x%" PRIx64, operation->frames[i]);
        }
        printf("\n");
        break;
    default:
        break;
    }
}

/* Prints objects as THREAD.NUMBER. */
static int
list(const char *path)
{
    struct hew_trace trace;
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    char why[HEW_TRACE_WHY];

    if (!hew_trace_open_file(&trace, path, why)) {
        return refuse(path, why);
    }
    if (!hew_trace_merge_begin(&merge, &trace)) {
        return refuse(path, "no memory for its threads");
    }
    while (hew_trace_merge_next(&merge, &operation)) {
        print_operation(&trace, &operation);
    }
    bool failed = merge.failed;
    hew_trace_merge_end(&merge);
    hew_trace_close(&trace);
    if (failed) {
        return refuse(path, "no memory for its objects");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

/* "NAME=NUMBER"; false: malformed. */
static bool
option_number(const char *word, const char *name, uint64_t *value)
{
    size_t length = strlen(name);
    char *end;

    if (strncmp(word, name, length) != 0 || word[length] < '0' || word[length] > '9') {
        return false;
    }
    *value = strtoull(word + length, &end, 10);
    return *end == '\0';
}

/* words: the arguments after the trace, ended by NULL. */
static int
profile(const char *path, char **words)
{
    struct profile_options options = {.within = 1};
    struct hew_trace trace;
    char why[HEW_TRACE_WHY];
    bool done;

    for (; *words != NULL; words++) {
        bool at = options.at_count < PROFILE_MOMENTS && option_number(*words, "at=", &options.at[options.at_count]);
        options.at_count += at;
        options.over_time = options.over_time || strcmp(*words, "over-time") == 0;
        options.by_thread = options.by_thread || strcmp(*words, "by-thread") == 0;
        if (!at && !option_number(*words, "within=", &options.within) && strcmp(*words, "over-time") != 0 &&
            strcmp(*words, "by-thread") != 0) {
            return refuse(*words, "no option of hew-replay profile, or one moment too many");
        }
    }
    if (!hew_trace_open_file(&trace, path, why)) {
        return refuse(path, why);
    }
    done = profile_write(&trace, &options, stdout, why);
    hew_trace_close(&trace);
    return !done ? refuse(path, why) : fflush(stdout) == 0 ? 0 : 1;
}

static int
finish(const char *path)
{
    struct hew_trace trace;
    struct stat about;
    char why[HEW_TRACE_WHY];
    void *bytes;
    int file;

    if (!hew_trace_open_file(&trace, path, why)) {
        return refuse(path, why);
    }
    hew_trace_close(&trace);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0) {
        return refuse(path, strerror(errno));
    }
    bytes = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) {
        return refuse(path, strerror(errno));
    }
    printf("closed %zu\n", hew_trace_finish(bytes, (size_t)about.st_size));
    munmap(bytes, (size_t)about.st_size);
    close(file);
    return 0;
}

/* The index of the word among the words; -1: not found. */
static int
which(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static bool
read_plan(int file, struct hew_plan *plan)
{
    struct stat about;

    return pread(file, plan, sizeof(*plan), 0) == (ssize_t)sizeof(*plan) &&
           memcmp(plan->magic, HEW_PLAN_MAGIC, sizeof(plan->magic)) == 0 && fstat(file, &about) == 0 &&
           plan->slots <= HEW_PLAN_SLOTS && plan->threads <= (uint64_t)about.st_size / sizeof(struct hew_plan_thread);
}

static int
run_plan(const char *path, int touch, bool real_time, const char *samples)
{
    struct hew_plan plan;
    struct hew_run_options options = {.touch = (enum hew_touch)touch, .real_time = real_time, .samples = -1};
    struct hew_run_result result;
    char why[HEW_TRACE_WHY];
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0) {
        return refuse(path, strerror(errno));
    }
    if (!read_plan(file, &plan)) {
        return refuse(path, "no plan of hew-replay");
    }
    if (samples != NULL && (options.samples = open(samples, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0) {
        return refuse(samples, strerror(errno));
    }
    if (!hew_run(file, &plan, &options, &result, why)) {
        return refuse(path, why);
    }
    printf("seconds %.6f\noperations/s %.0f\npeak heap %" PRIu64 "\nheap at end %" PRIu64 "\nheap byte-seconds %.0f\n",
           result.seconds, (double)plan.operations / (result.seconds > 0 ? result.seconds : 1), result.peak,
           result.at_end, result.byte_seconds);
    printf("failed %" PRIu64 "\n", result.failed);
    return 0;
}

int
main(int argc, char **argv)
{
    static const char *const touches[] = {"none", "first", "recorded", "pages", "all"};
    static const char *const paces[] = {"fast", "real"};

    if (argc == 4 && strcmp(argv[1], "plan") == 0) {
        return make_plan(argv[2], argv[3]);
    }
    if (argc == 3 && strcmp(argv[1], "list") == 0) {
        return list(argv[2]);
    }
    if (argc >= 3 && strcmp(argv[1], "profile") == 0) {
        return profile(argv[2], argv + 3);
    }
    if (argc == 3 && strcmp(argv[1], "finish") == 0) {
        return finish(argv[2]);
    }
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "run") == 0 && which(argv[3], touches, 5) >= 0 &&
        which(argv[4], paces, 2) >= 0) {
        return run_plan(argv[2], which(argv[3], touches, 5), which(argv[4], paces, 2) == 1, argc == 6 ? argv[5] : NULL);
    }
    fprintf(stderr, "hew-replay: plan TRACE PLAN, finish TRACE, list TRACE, profile TRACE, or run PLAN "
                    "none|first|recorded|pages|all fast|real "
                    "[SAMPLES]\n");
    return 2;
}
