/* SPDX-License-Identifier: MIT */
/* machine: see machine.h. */
#include "machine.h"

#include "thread_data.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_BASE ((char *)0x300000000000)
#define STACK_BYTES ((size_t)256 << 10)
#define WAKE_NS 3000        /* from a wake to the first instruction of the one who slept */
#define DESTRUCTOR_ROUNDS 4 /* as PTHREAD_DESTRUCTOR_ITERATIONS */
/* More of either than any operation takes, with all threads at one: a refused request looks at every bin of every arena. */
#define SWITCHES_WITHOUT_PROGRESS UINT64_C(20000000)
#define ACCESSES_WITHOUT_PROGRESS UINT64_C(1000000000)
#define SWITCHES_FINE 4000000 /* after so many the threads lose the processor half as often, and so on */
#define COARSEST 65536

struct machine_thread machine_threads[MACHINE_THREADS];
struct machine_thread *machine_self;
struct machine_habits machine_habits = {.accesses_between = 1000, .starved = MACHINE_NOBODY};
int64_t machine_budget = INT64_MAX;
uint64_t machine_now_ns = UINT64_C(1000000000000), machine_switches, machine_work_ns;
struct machine_thread *(*machine_choose)(void);
uint64_t machine_horizon_ns;

static unsigned machine_count, machine_used;   /* threads that there can be; up to here there have been some */
static int64_t drawn = INT64_MAX;              /* what machine_budget was */
static uint64_t switches_then, accesses_since; /* at the last progress; since then */
static void *host_stack_pointer;

/* Saves the registers that a function gives back, changes stack and thread data, and goes on there. */
void machine_change(void **save, void *load, uintptr_t thread_data);
__asm__(".text\n.globl machine_change\nmachine_change:\n"
        "\tpush %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
        "\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n\twrfsbase %rdx\n"
        "\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n");

void
machine_boot(unsigned threads)
{
    machine_count = threads;
    thread_data_boot(threads);
    for (unsigned i = 0; i < threads; i++) {
        char *stack = STACK_BASE + i * STACK_BYTES * 2; /* the half below is a guard */
        mmap(stack, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        machine_threads[i].thread_data = thread_data_of(i);
    }
}

uint64_t
machine_random(void)
{
    uint64_t *dice = &machine_self->dice;
    *dice += UINT64_C(0x9e3779b97f4a7c15);
    return machine_mix(*dice);
}

uint64_t
machine_below(uint64_t bound)
{
    return (machine_random() >> 11) % bound;
}

bool
machine_chance(uint32_t in_65536)
{
    return in_65536 != 0 && (machine_random() >> 48) < in_65536;
}

static void
draw_budget(void)
{
    uint64_t between = machine_habits.accesses_between;
    for (uint64_t done = machine_switches; done > SWITCHES_FINE && between < COARSEST; done -= SWITCHES_FINE) {
        between *= 2;
    }
    drawn = machine_charge != NULL ? INT64_MAX : (int64_t)machine_below(2 * between);
    machine_budget = drawn;
}

void
machine_note_progress(void)
{
    switches_then = machine_switches;
    accesses_since = 0;
}

static bool
is_endless(void)
{
    return machine_charge == NULL &&
           (machine_switches - switches_then > SWITCHES_WITHOUT_PROGRESS || accesses_since > ACCESSES_WITHOUT_PROGRESS);
}

static void
go_on(struct machine_thread *next)
{
    struct machine_thread *before = machine_self;
    if (next == before) {
        return;
    }
    machine_self = next;
    machine_change(before == NULL ? &host_stack_pointer : &before->stack_pointer, next->stack_pointer,
                   next->thread_data);
}

static bool
is_ready(struct machine_thread *thread)
{
    if (thread->state == MACHINE_WAITS && thread->deadline_ns != 0 && thread->deadline_ns <= machine_now_ns) {
        thread->state = MACHINE_RUNS;
    }
    return thread->state == MACHINE_RUNS;
}

/* No thread can go on, now or later. */
static void
say_who_waits(void)
{
    char who[256];
    size_t used = 0;
    for (unsigned i = 0; i < machine_count && used < sizeof who - 64; i++) {
        struct machine_thread *thread = &machine_threads[i];
        if (thread->state == MACHINE_WAITS || thread->state == MACHINE_JOINS) {
            used += (size_t)snprintf(who + used, sizeof who - used, " %u (operation %u.%u) for %p;", i,
                                     thread->at_thread, thread->at_operation, thread->waits_for);
        }
    }
    machine_finding("stuck: every thread waits for ever:%s", who);
}

/* No thread can go on: time passes until the next deadline. */
static void
pass_time(void)
{
    uint64_t earliest = UINT64_MAX;
    for (unsigned i = 0; i < machine_count; i++) {
        struct machine_thread *thread = &machine_threads[i];
        if (thread->state == MACHINE_WAITS && thread->deadline_ns != 0 && thread->deadline_ns < earliest) {
            earliest = thread->deadline_ns;
        }
    }
    if (earliest == UINT64_MAX) {
        say_who_waits();
    }
    machine_now_ns = earliest;
}

static struct machine_thread *
choose(void)
{
    for (;;) {
        static struct machine_thread *ready[MACHINE_THREADS]; /* not on each thread's stack */
        unsigned count = 0;
        for (unsigned i = 0; i < machine_used; i++) {
            if (is_ready(&machine_threads[i])) {
                ready[count++] = &machine_threads[i];
            }
        }
        if (count != 0) {
            struct machine_thread *chosen = ready[machine_below(count)];
            bool starved = (uint32_t)(chosen - machine_threads) == machine_habits.starved && machine_below(64) != 0;
            return starved ? ready[machine_below(count)] : chosen;
        }
        pass_time();
    }
}

static void
change(void)
{
    machine_switches++;
    accesses_since += machine_budget < drawn ? (uint64_t)(drawn - machine_budget) : 0;
    if (is_endless()) {
        machine_finding("the run does not end");
    }
    if (machine_self->stores != 0) {
        machine_drain_some(machine_self);
    }
    if (machine_habits.ns_between != 0) {
        machine_now_ns += machine_below(2 * (uint64_t)machine_habits.ns_between);
    }
    go_on(machine_choose != NULL ? machine_choose() : choose());
    draw_budget();
}

void
machine_preempt(void)
{
    if (machine_self == NULL) {
        machine_budget = INT64_MAX;
        return;
    }
    change();
}

bool
machine_wait(const void *word, uint64_t ns)
{
    struct machine_thread *self = machine_self;
    machine_drain(self);
    self->state = MACHINE_WAITS;
    self->waits_for = word;
    self->deadline_ns = ns == 0 ? 0 : (machine_choose != NULL ? self->clock_ns : machine_now_ns) + ns;
    change();
    bool woken = self->waits_for == NULL;
    self->waits_for = NULL;
    return woken;
}

unsigned
machine_wake(const void *word, unsigned most)
{
    unsigned woken = 0, from = (unsigned)machine_below(machine_count);
    for (unsigned i = 0; i < machine_count && woken < most; i++) {
        struct machine_thread *thread = &machine_threads[(from + i) % machine_count];
        if (thread->state == MACHINE_WAITS && thread->waits_for == word) {
            thread->state = MACHINE_RUNS;
            thread->waits_for = NULL;
            if (machine_choose != NULL && thread->clock_ns < machine_self->clock_ns + WAKE_NS) {
                thread->clock_ns = machine_self->clock_ns + WAKE_NS;
            }
            machine_horizon_ns = thread->clock_ns < machine_horizon_ns ? thread->clock_ns : machine_horizon_ns;
            woken++;
        }
    }
    return woken;
}

void
machine_join(struct machine_thread *thread)
{
    while (thread->state != MACHINE_ENDED) {
        machine_self->state = MACHINE_JOINS;
        machine_self->waits_for = thread;
        change();
    }
    thread->state = MACHINE_FREE;
}

/* The destructors of libc's keys. */
void threads_end(struct machine_thread *thread, unsigned rounds);

void
machine_end(void)
{
    struct machine_thread *self = machine_self;
    threads_end(self, DESTRUCTOR_ROUNDS);
    machine_drain(self);
    self->state = self->detached ? MACHINE_FREE : MACHINE_ENDED;
    for (unsigned i = 0; i < machine_count; i++) {
        if (machine_threads[i].state == MACHINE_JOINS && machine_threads[i].waits_for == self) {
            machine_threads[i].state = MACHINE_RUNS;
            machine_threads[i].waits_for = NULL;
        }
    }
    change();
    __builtin_unreachable();
}

static void
begin(void)
{
    machine_self->work(machine_self->argument);
    machine_end();
}

struct machine_thread *
machine_birth(void *(*work)(void *argument), void *argument)
{
    unsigned i = 0;
    while (i < machine_count && machine_threads[i].state != MACHINE_FREE) {
        i++;
    }
    if (i == machine_count) {
        return NULL;
    }
    machine_used = i < machine_used ? machine_used : i + 1;
    struct machine_thread *thread = &machine_threads[i];
    uintptr_t thread_data = thread->thread_data;
    *thread =
        (struct machine_thread){.thread_data = thread_data, .state = MACHINE_RUNS, .work = work, .argument = argument};
    thread->dice = machine_self == NULL ? 1 : machine_random();
    thread->clock_ns = machine_self == NULL ? 0 : machine_self->clock_ns;
    machine_horizon_ns = thread->clock_ns;
    thread_data_renew(thread_data);
    void **top = (void **)(STACK_BASE + i * STACK_BYTES * 2 + STACK_BYTES) - 2;
    memset(top - 6, 0, 8 * sizeof *top);
    *top = (void *)(uintptr_t)begin; /* where machine_change() returns to; aligned as after a call */
    thread->stack_pointer = top - 6;
    return thread;
}

static void *(*first_work)(void *argument);

static void *
run_first(void *argument)
{
    first_work(argument);
    machine_self->state = MACHINE_ENDED;
    machine_self = NULL;
    void *unused;
    machine_change(&unused, host_stack_pointer, thread_data_of_host());
    return NULL;
}

void
machine_run(void *(*work)(void *argument), void *argument)
{
    first_work = work;
    go_on(machine_birth(run_first, argument));
    machine_budget = INT64_MAX;
}

void
machine_alone(void)
{
    for (unsigned i = 0; i < machine_count; i++) {
        if (&machine_threads[i] != machine_self) {
            machine_threads[i].state = MACHINE_FREE;
            machine_threads[i].stores = 0;
            machine_threads[i].stored_lines = 0;
        }
    }
}

void
machine_on_host(void (*act)(void *argument), void *argument)
{
    int64_t budget = machine_budget;
    thread_data_use(thread_data_of_host());
    act(argument);
    thread_data_use(machine_self == NULL ? thread_data_of_host() : machine_self->thread_data);
    machine_budget = budget;
}

static void
hear_fatal(const char *line)
{
    machine_finding("fatal: %s", line);
}

void
machine_hear_fatal(void)
{
    extern void hew_fatal_set_hook(void (*hook)(const char *line));
    hew_fatal_set_hook(hear_fatal);
}
