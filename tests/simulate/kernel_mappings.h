/* SPDX-License-Identifier: MIT */
/*
 * kernel_mappings: the table of what is mapped: ranges in order, each with one protection; neighbours that are alike are one.
 */
#ifndef HEW_SIMULATE_KERNEL_MAPPINGS_H
#define HEW_SIMULATE_KERNEL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
    uintptr_t begin, end;
    int protection;
};

extern struct mapping mappings[];
extern unsigned mappings_count;

/* The first mapping that ends above `address`. */
unsigned mappings_at(uintptr_t address);

/* How many bytes of [begin, end) are mapped. */
size_t mappings_inside(uintptr_t begin, uintptr_t end);

/* How many mappings more there would be if [begin, end) became one of its own, or nothing (`protection` below 0). */
int mappings_growth(uintptr_t begin, uintptr_t end, int protection);

/* [begin, end) has that protection from now on; below 0: is not mapped. */
void mappings_set(uintptr_t begin, uintptr_t end, int protection);

#endif
