/* SPDX-License-Identifier: MIT */
/*
 * scaling: what a million pairs of malloc and free would cost on 1 to 192 processors.
 *
 *     scaling [--conf SETTINGS] [--pairs N] [--transfer NS] [--sites N] [--processors N] [WORKLOAD ...]
 *
 * --pairs    of each thread (default 10000); the figures are for a million in any case
 * --sites    also print the N places in the library that most lines were transferred for
 */
#include "cost.h"
#include "kernel.h"
#include "machine.h"
#include "tested.h"
#include "workloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL 4096
#define BINS 64 /* more than there are: those that do not exist count nothing */

struct locks {
    uint64_t taken, changed, meta, pages, waited;
};

struct result {
    struct locks locks;
    uint64_t ns, pairs;
    struct cost_counts counts;
};

static struct result *result;
static const struct workload *workload;
static uint64_t pairs_each = 10000;
static unsigned arrived, finished, start;
static uint64_t begin_ns, end_ns;

static uint64_t
number_of(const char *format, int number)
{
    char name[96];
    uint64_t value = 0;
    size_t size = sizeof value;
    snprintf(name, sizeof name, format, number);
    return tested_mallctl(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

static void
count_locks(struct locks *locks)
{
    uint64_t epoch = 1;
    tested_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    static const char *const arena_locks[] = {"extents_dirty", "base", "tcache_list"};
    *locks = (struct locks){0};
    for (int bin = 0; bin < BINS; bin++) {
        locks->taken += number_of("stats.arenas.4096.bins.%d.mutex.num_ops", bin);
        locks->changed += number_of("stats.arenas.4096.bins.%d.mutex.num_owner_switch", bin);
        locks->waited += number_of("stats.arenas.4096.bins.%d.mutex.num_wait", bin);
    }
    for (unsigned i = 0; i < sizeof arena_locks / sizeof arena_locks[0]; i++) {
        char name[96];
        snprintf(name, sizeof name, "stats.arenas.%%d.mutexes.%s.num_ops", arena_locks[i]);
        uint64_t taken = number_of(name, ALL);
        locks->taken += taken;
        locks->pages += i == 0 ? taken : 0;
        locks->meta += i == 1 ? taken : 0;
        snprintf(name, sizeof name, "stats.arenas.%%d.mutexes.%s.num_owner_switch", arena_locks[i]);
        locks->changed += number_of(name, ALL);
        snprintf(name, sizeof name, "stats.arenas.%%d.mutexes.%s.num_wait", arena_locks[i]);
        locks->waited += number_of(name, ALL);
    }
}

/* All threads are warm: from here on it counts. */
static void
begin_measuring(void)
{
    void (*charge)(const void *, unsigned, enum machine_access) = machine_charge;
    machine_charge = NULL;
    machine_budget = INT64_MAX;
    count_locks(&result->locks);
    machine_charge = charge;
    memset(cost_counts, 0, sizeof *cost_counts);
    for (unsigned i = 0; i < MACHINE_THREADS; i++) {
        begin_ns = machine_threads[i].clock_ns > begin_ns ? machine_threads[i].clock_ns : begin_ns;
    }
    for (unsigned i = 0; i < MACHINE_THREADS; i++) {
        machine_threads[i].clock_ns = begin_ns;
    }
    start = 1;
    machine_wake(&start, MACHINE_THREADS);
}

static void *
work(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    workload->pairs(thread, pairs_each / workload->part);
    if (++arrived == workloads_threads) {
        begin_measuring();
    }
    while (start == 0) {
        machine_wait(&start, 0);
    }
    workload->pairs(thread, pairs_each / workload->part);
    end_ns = machine_self->clock_ns > end_ns ? machine_self->clock_ns : end_ns;
    if (++finished == workloads_threads) {
        machine_wake(&finished, 1);
    }
    for (;;) { /* they keep what they hold: their ends are not measured */
        machine_wait(&arrived, 0);
    }
    return NULL;
}

static void *
program(void *unused)
{
    tested_free(tested_malloc(1));
    for (unsigned thread = 0; thread < workloads_threads; thread++) {
        machine_birth(work, (void *)(uintptr_t)thread);
    }
    while (finished < workloads_threads) {
        machine_wait(&finished, 0);
    }
    machine_charge = NULL;
    machine_budget = INT64_MAX;
    result->counts = *cost_counts;
    struct locks before = result->locks;
    count_locks(&result->locks);
    result->locks.taken -= before.taken;
    result->locks.changed -= before.changed;
    result->locks.meta -= before.meta;
    result->locks.pages -= before.pages;
    result->locks.waited -= before.waited;
    result->ns = end_ns - begin_ns;
    result->pairs = pairs_each / workload->part * workloads_threads;
    fflush(stdout);
    _exit(0);
}

static double
of_a_million(uint64_t count)
{
    return (double)count * 1e6 / (double)result->pairs;
}

static int
by_transfers(const void *one, const void *other)
{
    uint64_t a = ((const struct cost_site *)one)->transfers, b = ((const struct cost_site *)other)->transfers;
    return (a < b) - (a > b);
}

static void
print_sites(unsigned most)
{
    qsort(result->counts.site, COST_SITES, sizeof(struct cost_site), by_transfers);
    for (unsigned i = 0; i < most && result->counts.site[i].transfers != 0; i++) {
        char command[160], name[128] = "the workload";
        struct cost_site *site = &result->counts.site[i];
        snprintf(command, sizeof command, "addr2line -sfe /proc/%d/exe %#lx | tr '\\n' ' '", (int)getpid(), site->code);
        FILE *answer = site->code == 0 ? NULL : popen(command, "r");
        if (answer != NULL) {
            name[fread(name, 1, sizeof name - 1, answer)] = '\0';
            pclose(answer);
        }
        printf("    %10.0f  %s\n", of_a_million(site->transfers), name);
    }
}

static double
run(unsigned threads, double alone, unsigned sites)
{
    workloads_threads = threads;
    memset(result, 0, sizeof *result);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        kernel_habits.processors = threads;
        cost_boot();
        cost_counts = &result->counts;
        workloads_begin();
        machine_run(program, NULL);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || result->pairs == 0) {
        printf("| %s | %u | failed |\n", workload->name, threads);
        return alone;
    }
    double ms = (double)result->ns / (double)result->pairs; /* of a million pairs, all threads together */
    printf("| %s | %u | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.1f |\n", workload->name,
           threads, of_a_million(result->locks.taken), of_a_million(result->locks.changed),
           of_a_million(result->locks.waited), of_a_million(result->locks.pages), of_a_million(result->locks.meta),
           of_a_million(result->counts.changes), of_a_million(result->counts.transfers - result->counts.own_transfers),
           of_a_million(result->counts.own_transfers), ms, alone == 0 ? 1 : alone / ms);
    print_sites(sites);
    return alone == 0 ? ms : alone;
}

static bool
is_wanted(const char *name, char **words, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], name) == 0) {
            return true;
        }
    }
    return count == 0;
}

int
main(int count, char **words)
{
    static const unsigned steps[] = {1, 2, 16, 64, 192};
    unsigned sites = 0, only = 0;
    int at = 1;
    for (; at + 1 < count && words[at][0] == '-'; at += 2) {
        unsigned value = (unsigned)strtoul(words[at + 1], NULL, 0);
        if (strcmp(words[at], "--conf") == 0) {
            tested_malloc_conf = words[at + 1];
        } else if (strcmp(words[at], "--pairs") == 0) {
            pairs_each = value;
        } else {
            *(strcmp(words[at], "--transfer") == 0 ? &cost_transfer_ns
              : strcmp(words[at], "--sites") == 0  ? &sites
                                                   : &only) = value;
        }
    }
    result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    machine_boot(COST_PROCESSORS + 4);
    kernel_boot();
    kernel_habits = (struct kernel_habits){.page = KERNEL_PAGE,
                                           .mappings_most = KERNEL_MAPPINGS_MOST,
                                           .bytes_most = SIZE_MAX,
                                           .knows_ranges = true,
                                           .knows_lazily = true};
    puts("| workload | processors | locks taken | changes of owner | waits | page locks | metadata locks | atomic "
         "changes | "
         "lines for hew | lines for the program | ms for a million pairs | times one processor |");
    puts("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < workloads_count; i++) {
        double alone = 0;
        workload = &workloads[i];
        for (unsigned step = 0; is_wanted(workload->name, words + at, count - at) && step < 5; step++) {
            if (only == 0 || steps[step] == 1 || steps[step] == only) {
                alone = run(steps[step], alone, sites);
            }
        }
    }
    return 0;
}
