/* SPDX-License-Identifier: MIT */
/*
 * blocks: the free blocks of a buddy system: a stack for each order, and a lookup by address.
 *
 * Owns      an open-addressing hash table, by malloc: 64 bytes for each free block at their largest number.
 */
#ifndef HEW_TRACE_SIMULATE_BLOCKS_H
#define HEW_TRACE_SIMULATE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCKS_ORDERS 96

struct blocks_row;

struct blocks {
    struct blocks_row *rows;
    uint64_t room; /* a power of two */
    uint64_t count;
    uint64_t newest[BLOCKS_ORDERS]; /* the address of the stack's top, or BLOCKS_NONE */
};

#define BLOCKS_NONE UINT64_MAX

void blocks_begin(struct blocks *blocks);
void blocks_end(struct blocks *blocks);

/* `mark` is stored for the caller.  False: no memory. */
bool blocks_put(struct blocks *blocks, uint64_t address, unsigned order, unsigned mark);

/* Removes the newest free block of an order.  False: there is none. */
bool blocks_pop(struct blocks *blocks, unsigned order, uint64_t *address, unsigned *mark);

/* Removes this block.  False: it is not free, or of another order. */
bool blocks_take(struct blocks *blocks, uint64_t address, unsigned order, unsigned *mark);

#endif
