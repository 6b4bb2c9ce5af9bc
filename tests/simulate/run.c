/* SPDX-License-Identifier: MIT */
/* run: see run.h. */
#include "run.h"

#include "kernel.h"
#include "machine.h"
#include "objects.h"
#include "operations.h"
#include "pools.h"
#include "process.h"
#include "settings.h"
#include "tested.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define END_CHANCE 4 /* of 8192 operations: the thread ends and another one follows */
#define FORK_CHANCE 3

const struct run_plan *run_plan;
struct run_report *run_report;

static uint32_t phase; /* threads work up to the end of this one */
static unsigned working;

/* The next access to memory may be the last one for now; no need to be early. */
void
simulated_pause(void)
{
}

static void
leave(void)
{
    run_report->switches += machine_switches;
    run_report->checks += objects_checks;
    for (unsigned call = 0; call < KERNEL_CALLS; call++) {
        run_report->refusals += kernel_refusals[call];
    }
    fflush(stdout);
    _exit(run_report->finding[0] == '\0' ? 0 : 1);
}

struct words {
    const char *format;
    va_list values;
};

static void
write_finding(void *context)
{
    struct words *words = context;
    if (run_report->finding[0] == '\0') {
        vsnprintf(run_report->finding, sizeof run_report->finding, words->format, words->values);
        if (run_plan->say) {
            kernel_say();
        }
    }
    leave();
}

void
machine_finding(const char *format, ...)
{
    struct words words = {.format = format};
    va_start(words.values, format);
    machine_on_host(write_finding, &words);
    abort();
}

static void
fault(int signal, siginfo_t *info, void *context)
{
    uintptr_t code = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    machine_finding("signal %d: address %p, code %#lx (addr2line -ife simulate)", signal, info->si_addr, code);
}

static void
catch_faults(void)
{
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
    machine_hear_fatal();
}

static void
begin_operation(unsigned thread, uint32_t number)
{
    machine_self->dice = machine_mix(run_plan->seed ^ machine_mix(((uint64_t)thread << 32) + number + 1));
    machine_self->at_thread = run_report->at_thread = thread;
    machine_self->at_operation = run_report->at_operation = number;
    run_report->last[thread] = number;
    run_report->operations++;
    machine_note_progress();
}

static void *work(void *argument);

static void
in_child(void)
{
    objects_check_all();
    for (unsigned i = 0; i < OBJECTS_MOST; i++) {
        if (objects[i].address != NULL && !objects[i].busy && objects[i].arena == 0 && machine_below(2) == 0) {
            void *address = objects[i].address;
            objects_leave(&objects[i]);
            objects[i].address = NULL;
            tested_free(address);
        }
    }
    for (unsigned i = 0; i < 100; i++) {
        operations_on_object(0);
    }
    objects_check_all();
}

/* The thread ends; one that goes on where it stopped follows.  False: there can be none. */
static bool
hand_over(unsigned thread)
{
    struct machine_thread *next = machine_birth(work, (void *)(uintptr_t)thread);
    if (next == NULL) {
        return false;
    }
    next->detached = true;
    run_report->thread_ends++;
    operations_say("the thread ends, another one follows");
    return true;
}

static void
rest(void)
{
    if (machine_chance(program_habits.rests)) {
        machine_now_ns += machine_below(program_habits.rest_ms + 1) * 1000000;
    }
}

static uint32_t reached[RUN_THREADS]; /* the next operation of each thread */

/* True: the thread ends. */
static bool
one(unsigned thread)
{
    uint32_t number = reached[thread]++;
    if (run_leaves_out(thread, number)) {
        return false;
    }
    begin_operation(thread, number);
    uint64_t what = machine_below(8192);
    if (what < END_CHANCE) {
        return hand_over(thread);
    }
    if (what < END_CHANCE + FORK_CHANCE && program_habits.forks) {
        operations_say("fork");
        run_report->forks++;
        process_fork(in_child);
    } else if (machine_chance(program_habits.controls)) {
        controls_one();
    } else {
        operations_on_object(thread);
    }
    rest();
    return false;
}

static void *
work(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    while (phase < program_habits.phases) {
        uint32_t end = (uint32_t)((uint64_t)run_plan->operations * (phase + 1) / program_habits.phases);
        while (reached[thread] < end) {
            if (one(thread)) {
                return NULL;
            }
        }
        uint32_t now = phase;
        if (--working == 0) {
            machine_wake(&working, 1);
        }
        while (phase == now) {
            machine_wait(&phase, 0);
        }
    }
    working--;
    machine_wake(&working, 1);
    return NULL;
}

/* Whether a thread is in the middle of something: its end too. */
static bool
is_at_work(const struct machine_thread *thread)
{
    bool rests = thread->state == MACHINE_WAITS && (thread->work != work || thread->waits_for == &phase);
    return thread != machine_self && thread->state != MACHINE_FREE && thread->state != MACHINE_ENDED && !rests;
}

static void
wait_for_all(void)
{
    while (working != 0) {
        machine_wait(&working, 0);
    }
    for (unsigned i = 0; i < MACHINE_THREADS;) {
        if (is_at_work(&machine_threads[i])) {
            machine_preempt();
            i = 0;
        } else {
            i++;
        }
    }
}

/* Nothing is refused and no thread loses the processor. */
static void
be_quiet(bool quiet)
{
    static uint32_t accesses;
    if (quiet) {
        kernel_habits_drawn = kernel_habits;
        accesses = machine_habits.accesses_between;
        memset(kernel_habits.refuses, 0, sizeof kernel_habits.refuses);
        kernel_habits.mappings_most = KERNEL_MAPPINGS_MOST;
        kernel_habits.bytes_most = SIZE_MAX;
        machine_habits.accesses_between = 1u << 30;
    } else {
        kernel_habits = kernel_habits_drawn;
        machine_habits.accesses_between = accesses;
    }
}

static void
look(bool last)
{
    be_quiet(true);
    machine_self->dice = run_plan->seed;
    run_report->at_thread = RUN_THREADS;
    quiet_check();
    if (last) {
        operations_free_all();
        controls_end_all();
        quiet_check();
        quiet_check_empty();
    }
    be_quiet(false);
}

/* Without memory at its start the library ends the process, as it says. */
static void
boot(void)
{
    struct kernel_habits before = kernel_habits;
    memset(kernel_habits.refuses, 0, sizeof kernel_habits.refuses);
    tested_free(tested_malloc(1));
    kernel_habits = before;
}

static void *
program(void *unused)
{
    machine_self->dice = run_plan->seed;
    boot();
    if (program_habits.pools) {
        pools_begin();
    }
    simulated___libc_single_threaded = program_habits.threads == 1;
    for (unsigned thread = 0; thread < program_habits.threads; thread++) {
        machine_birth(work, (void *)(uintptr_t)thread)->detached = true;
    }
    simulated___libc_single_threaded = 0;
    while (phase < program_habits.phases) {
        working = program_habits.threads;
        machine_wake(&phase, RUN_THREADS);
        wait_for_all();
        if (phase + 1 < program_habits.phases) {
            look(false);
        }
        phase++;
    }
    working = program_habits.threads; /* all of them leave */
    machine_wake(&phase, RUN_THREADS);
    wait_for_all();
    look(true);
    return NULL;
}

bool
run_in_child(const struct run_plan *plan, struct run_report *report)
{
    report->finding[0] = '\0';
    memset(report->last, 0, sizeof report->last);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_plan = plan;
        run_report = report;
        catch_faults();
        settings_draw(plan, report->settings, sizeof report->settings);
        objects_boot();
        machine_run(program, NULL);
        leave();
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        perror("simulate");
        exit(2);
    }
    if (status != 0 && report->finding[0] == '\0') {
        snprintf(report->finding, sizeof report->finding, "the run has ended with status %#x", (unsigned)status);
    }
    return report->finding[0] == '\0';
}

struct fork_result {
    pid_t child;
};

static void
fork_on_host(void *context)
{
    fflush(stdout);
    ((struct fork_result *)context)->child = fork();
}

static void
wait_on_host(void *context)
{
    int status = 0;
    waitpid(((struct fork_result *)context)->child, &status, 0);
    if (status != 0) {
        if (run_report->finding[0] == '\0') {
            snprintf(run_report->finding, sizeof run_report->finding, "the child has ended with status %#x",
                     (unsigned)status);
        }
        leave();
    }
}

static void
leave_child(void *unused)
{
    fflush(stdout);
    _exit(0);
}

void
process_fork(void (*child)(void))
{
    struct fork_result result = {-1};
    if (process_handlers.before != NULL) {
        process_handlers.before();
    }
    machine_drain_all(); /* the kernel's work orders them all */
    machine_on_host(fork_on_host, &result);
    if (result.child == 0) {
        machine_alone();
        if (process_handlers.child != NULL) {
            process_handlers.child();
        }
        child();
        machine_on_host(leave_child, NULL);
    }
    machine_on_host(wait_on_host, &result);
    if (process_handlers.parent != NULL) {
        process_handlers.parent();
    }
}
