/* SPDX-License-Identifier: MIT */
/*
 * workloads: what the simulated processors do: pairs of malloc and free, in the ways in which threads do or do not meet.
 */
#ifndef HEW_SIMULATE_WORKLOADS_H
#define HEW_SIMULATE_WORKLOADS_H

#include <stddef.h>
#include <stdint.h>

struct workload {
    const char *name, *what;
    void (*pairs)(unsigned thread, uint64_t pairs);
    unsigned part; /* of the pairs that are made: the costly ones make fewer */
};

extern const struct workload workloads[];
extern const size_t workloads_count;
extern unsigned workloads_threads;

/* Before any thread: no object is held. */
void workloads_begin(void);

#endif
