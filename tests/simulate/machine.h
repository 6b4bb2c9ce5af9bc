/* SPDX-License-Identifier: MIT */
/*
 * machine: the simulated computer: threads, time, chance.
 *
 * Owns      threads as coroutines of one thread of the system, each with a stack and thread data of its own; virtual time;
 *           who goes on next.  The library is compiled to call hooks.c at each access to memory: there a thread may lose
 *           the processor.  The simulator's own code is not, and so runs undisturbed between two calls of the library.
 * Promises  all that happens follows from the seed: stacks, thread data and pages lie at fixed addresses, nothing reads a
 *           true clock.
 * Not here  what the system does with pages: kernel_memory.c.  What the program does: operations.c.
 */
#ifndef HEW_SIMULATE_MACHINE_H
#define HEW_SIMULATE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_THREADS 10016 /* for days.c, and the purger */
#define MACHINE_KEYS 8
#define MACHINE_NOBODY UINT32_MAX
#define MACHINE_BUFFERED 16 /* a processor has 40 to 70; more only takes longer to search */

enum machine_state { MACHINE_FREE, MACHINE_RUNS, MACHINE_WAITS, MACHINE_JOINS, MACHINE_ENDED };

/* A store that its thread has made and no other thread sees yet. */
struct machine_store {
    void *address;
    uint64_t value;
    unsigned size;
    bool ordered; /* a release: all before it come first */
};

struct machine_thread {
    void *stack_pointer;
    uintptr_t thread_data; /* what the processor's register for it holds */
    enum machine_state state;
    const void *waits_for; /* WAITS: a word; JOINS: a thread */
    uint64_t deadline_ns;  /* WAITS; 0: none */
    uint64_t clock_ns;     /* scaling.c: this processor's own time */
    uint64_t dice;         /* decides what happens to the thread until its next operation */
    void *(*work)(void *argument);
    void *argument;
    void *keys[MACHINE_KEYS];
    int error_number; /* errno */
    bool detached;
    uint32_t at_thread, at_operation; /* of the plan: run.c */
    unsigned stores;
    uint64_t
        stored_lines; /* a bit for each line of 64 bytes, by its number's last bits, with a store of ours on its way */
    struct machine_store store[MACHINE_BUFFERED];
};

/* How a run's machine behaves: drawn from its seed (settings.c). */
struct machine_habits {
    uint32_t accesses_between; /* on average, from one loss of the processor to the next */
    uint32_t starved;          /* this thread is hardly ever chosen; MACHINE_NOBODY: all are equal */
    uint32_t ns_between;       /* that pass with each change of threads, on average */
    bool delayed_stores;       /* stores are seen late, and those without order in any order */
};

extern struct machine_thread machine_threads[MACHINE_THREADS];
extern struct machine_thread *machine_self; /* NULL: the simulator itself */
extern struct machine_habits machine_habits;
extern int64_t machine_budget; /* accesses that the thread has left */
extern uint64_t machine_now_ns, machine_switches;
extern uint64_t machine_work_ns; /* processor time of the process; 0: all time is */

/* The program has got on: what has to happen again before so much work is done, or the run counts as endless. */
void machine_note_progress(void);

/* Once a process: stacks and thread data for so many threads. */
void machine_boot(unsigned threads);

/* A thread of that work, which can go on; NULL: there are no more. */
struct machine_thread *machine_birth(void *(*work)(void *argument), void *argument);

/* Runs thread 0's work until it returns; the others must have ended. */
void machine_run(void *(*work)(void *argument), void *argument);

/* Another thread may go on. */
void machine_preempt(void);

/* The thread waits until another thread wakes the word, or that much time has passed.  False: it was time. */
bool machine_wait(const void *word, uint64_t ns);
unsigned machine_wake(const void *word, unsigned most);
void machine_join(struct machine_thread *thread);

/* The thread's end: what pthread_exit() does. */
_Noreturn void machine_end(void);

/* In a child of fork(): only the calling thread is there. */
void machine_alone(void);

/* Runs on the simulator's own thread data: for what calls libc. */
void machine_on_host(void (*act)(void *argument), void *argument);

/* Chance: the next number of the calling thread's dice. */
uint64_t machine_random(void);
uint64_t machine_below(uint64_t bound);
bool machine_chance(uint32_t in_65536);

static inline uint64_t
machine_mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* The store buffer of the calling thread: buffer.c. */
void machine_buffer(void *address, unsigned size, uint64_t value, bool ordered);
bool machine_buffered(const void *address, unsigned size, uint64_t *value);
void machine_settle(const void *address, unsigned size); /* its stores there are seen now */

static inline uint64_t
machine_line_bit(uintptr_t address)
{
    return UINT64_C(1) << (address / 64 % 64);
}

/* False: no store of the calling thread to [address, address + size) is on its way.  Nearly always, and cheap. */
static inline bool
machine_may_meet(const void *address, unsigned size)
{
    if (machine_self == NULL || machine_self->stores == 0) {
        return false;
    }
    uint64_t lines =
        size > 64 ? UINT64_MAX : machine_line_bit((uintptr_t)address) | machine_line_bit((uintptr_t)address + size - 1);
    return (machine_self->stored_lines & lines) != 0;
}
void machine_drain(struct machine_thread *thread);
void machine_drain_all(void);
void machine_drain_some(struct machine_thread *thread);

/* scaling.c: called for each access instead. */
enum machine_access {
    MACHINE_READ,
    MACHINE_WRITE,
    MACHINE_LOAD,
    MACHINE_STORE,
    MACHINE_CHANGE
}; /* the last three atomic */
extern void (*machine_charge)(const void *address, unsigned size, enum machine_access access);
extern const void *machine_site; /* where the library is that makes the access */
extern struct machine_thread *(*machine_choose)(void);
extern uint64_t machine_horizon_ns; /* the thread's own time at which another one is behind it */
void simulated_pause(void);         /* a turn of a loop that waits */

/* What went wrong: says it with seed and step, and ends the process. */
_Noreturn void machine_finding(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The library's fatal messages are findings from now on. */
void machine_hear_fatal(void);

#endif
