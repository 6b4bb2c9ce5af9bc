/* SPDX-License-Identifier: MIT */
/*
 * cost: what accesses to memory cost on a machine with many processors.
 *
 * Each simulated thread has a processor and a clock of its own.  An access to a line that the processor has, in the state
 * that it needs, is local; else the line is transferred, one transfer of a line after the other, and a CPU that waits for a line
 * waits for those before him.  A change of a line that others have read takes it from all of them.
 * Not here  the sizes of caches (no line is ever lost for want of room), page faults, what the kernel does inside a call.
 */
#ifndef HEW_SIMULATE_COST_H
#define HEW_SIMULATE_COST_H

#include <stddef.h>
#include <stdint.h>

#define COST_PROCESSORS 192
#define COST_SITES 4096

struct cost_site {
    uintptr_t code; /* where the library made the access */
    uint64_t transfers;
};

struct cost_counts {
    uint64_t accesses, changes;        /* changes: atomic operations that read and write */
    uint64_t transfers, own_transfers; /* all; those of the workload itself */
    struct cost_site site[COST_SITES]; /* by hash of `code`; 0: free */
};

extern struct cost_counts *cost_counts;
extern uint32_t cost_local_ps, cost_change_ps, cost_transfer_ns, cost_pause_ns;

/* For machine_charge and machine_choose. */
void cost_boot(void);

/* An access of the workload itself. */
void cost_touch(const void *address, size_t size);

/* The calling thread does something else for that long. */
void cost_compute(uint64_t ns);

#endif
