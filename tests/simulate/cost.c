/* SPDX-License-Identifier: MIT */
/* cost: see cost.h. */
#include "cost.h"

#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64
#define LG_LINES 22
#define AHEAD_NS 150 /* how far a thread may be ahead of the last one */
#define NONE UINT16_MAX

struct line {
    uint64_t number; /* + 1; 0: none */
    uint64_t free_ns;
    uint64_t readers[(COST_PROCESSORS + 63) / 64];
    uint16_t owner; /* the last writer, while no other CPU has read it since; NONE */
};

struct cost_counts *cost_counts;
uint32_t cost_local_ps = 450, cost_change_ps = 4500, cost_transfer_ns = 80, cost_pause_ns = 40;
static struct line *lines;
static uint64_t fraction_ps[MACHINE_THREADS];

static struct line *
line_of(uint64_t number)
{
    size_t mask = ((size_t)1 << LG_LINES) - 1, at = (number * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - LG_LINES);
    while (lines[at].number != number + 1) {
        if (lines[at].number == 0) {
            lines[at] = (struct line){.number = number + 1, .owner = NONE};
        } else {
            at = (at + 1) & mask;
        }
    }
    return &lines[at];
}

static void
count_site(uintptr_t code)
{
    size_t at = (code * UINT64_C(0x9e3779b97f4a7c15)) >> 52;
    for (unsigned look = 0; look < 64; look++, at = (at + 1) % COST_SITES) {
        struct cost_site *site = &cost_counts->site[at];
        if (site->code == code || site->code == 0) {
            site->code = code;
            site->transfers++;
            return;
        }
    }
}

static void
spend(unsigned processor, uint64_t ps)
{
    fraction_ps[processor] += ps;
    machine_self->clock_ns += fraction_ps[processor] / 1000;
    fraction_ps[processor] %= 1000;
}

/* The line comes to the processor, after those who wait for it already. */
static void
transfer(struct line *line)
{
    uint64_t begin = machine_self->clock_ns > line->free_ns ? machine_self->clock_ns : line->free_ns;
    line->free_ns = machine_self->clock_ns = begin + cost_transfer_ns;
    cost_counts->transfers++;
    cost_counts->own_transfers += machine_site == NULL;
    count_site((uintptr_t)machine_site);
}

static bool
is_only_reader(const struct line *line, unsigned processor)
{
    uint64_t others = 0;
    for (unsigned word = 0; word < sizeof line->readers / sizeof *line->readers; word++) {
        others |= line->readers[word] & ~(word == processor / 64 ? UINT64_C(1) << processor % 64 : 0);
    }
    return others == 0;
}

static void
read_line(struct line *line, unsigned processor)
{
    uint64_t own = UINT64_C(1) << processor % 64;
    if (line->owner == processor || (line->readers[processor / 64] & own) != 0) {
        return;
    }
    bool is_new = line->owner == NONE && is_only_reader(line, processor);
    if (!is_new) {
        transfer(line);
    }
    if (line->owner != NONE) {
        line->readers[line->owner / 64] |= UINT64_C(1) << line->owner % 64;
        line->owner = NONE;
    }
    line->readers[processor / 64] |= own;
}

static void
write_line(struct line *line, unsigned processor)
{
    if (line->owner == processor) {
        return;
    }
    if (line->owner != NONE || !is_only_reader(line, processor)) {
        transfer(line);
    }
    memset(line->readers, 0, sizeof line->readers);
    line->owner = (uint16_t)processor;
}

static void
charge(const void *address, unsigned size, enum machine_access access)
{
    if (machine_self == NULL) {
        return;
    }
    unsigned processor = (unsigned)(machine_self - machine_threads) % COST_PROCESSORS;
    uint64_t first = (uintptr_t)address / LINE, last = ((uintptr_t)address + size - 1) / LINE;
    bool reads = access == MACHINE_READ || access == MACHINE_LOAD;
    cost_counts->accesses++;
    cost_counts->changes += access == MACHINE_CHANGE;
    for (uint64_t number = first; number <= last; number++) {
        struct line *line = line_of(number);
        if (reads) {
            read_line(line, processor);
        } else {
            write_line(line, processor);
        }
        spend(processor, access == MACHINE_CHANGE ? cost_change_ps : cost_local_ps);
    }
    if (machine_self->clock_ns > machine_horizon_ns) {
        machine_preempt();
    }
}

void
cost_touch(const void *address, size_t size)
{
    machine_site = NULL;
    charge(address, (unsigned)size, MACHINE_WRITE);
}

void
cost_compute(uint64_t ns)
{
    machine_self->clock_ns += ns;
    if (machine_self->clock_ns > machine_horizon_ns) {
        machine_preempt();
    }
}

/* The thread whose clock is behind all others'. */
static struct machine_thread *
choose(void)
{
    struct machine_thread *first = NULL;
    uint64_t first_ns = UINT64_MAX, second_ns = UINT64_MAX;
    for (unsigned i = 0; i < MACHINE_THREADS; i++) {
        struct machine_thread *thread = &machine_threads[i];
        bool sleeps = thread->state == MACHINE_WAITS && thread->deadline_ns != 0;
        uint64_t ns = thread->state == MACHINE_RUNS ? thread->clock_ns : sleeps ? thread->deadline_ns : UINT64_MAX;
        if (ns < first_ns) {
            second_ns = first_ns;
            first_ns = ns;
            first = thread;
        } else if (ns < second_ns) {
            second_ns = ns;
        }
    }
    if (first == NULL) {
        machine_finding("stuck: every thread waits for ever");
    }
    if (first->state == MACHINE_WAITS) {
        first->state = MACHINE_RUNS;
        first->clock_ns = first_ns;
    }
    machine_horizon_ns = second_ns == UINT64_MAX ? first_ns + AHEAD_NS : second_ns + AHEAD_NS;
    return first;
}

void
cost_boot(void)
{
    lines = mmap(NULL, sizeof *lines << LG_LINES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    machine_charge = charge;
    machine_choose = choose;
}

/* A turn of a loop that waits. */
void
simulated_pause(void)
{
    if (machine_choose != NULL && machine_self != NULL) {
        cost_compute(cost_pause_ns);
    }
}
