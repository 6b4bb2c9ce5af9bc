/* SPDX-License-Identifier: MIT */
/* blocks: see blocks.h.  Linear probing; a removed row is filled from the rows behind it, so there are no
 * tombstones. */
#include "simulate/blocks.h"

#include <stdlib.h>

struct blocks_row {
    uint64_t address; /* plus one; 0: empty */
    uint64_t older;   /* next older block of the same order, by address */
    uint64_t newer;
    unsigned order;
    unsigned mark;
};

void
blocks_begin(struct blocks *blocks)
{
    *blocks = (struct blocks){0};
    for (unsigned order = 0; order < BLOCKS_ORDERS; order++) {
        blocks->newest[order] = BLOCKS_NONE;
    }
}

void
blocks_end(struct blocks *blocks)
{
    free(blocks->rows);
    blocks_begin(blocks);
}

static uint64_t
home(const struct blocks *blocks, uint64_t address)
{
    return ((address >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (blocks->room - 1);
}

/* The row of the address, or the empty row for it. */
static struct blocks_row *
row_of(const struct blocks *blocks, uint64_t address)
{
    uint64_t at = home(blocks, address);

    while (blocks->rows[at].address != 0 && blocks->rows[at].address != address + 1) {
        at = (at + 1) & (blocks->room - 1);
    }
    return &blocks->rows[at];
}

static bool
grow(struct blocks *blocks)
{
    struct blocks before = *blocks;
    struct blocks_row *rows;

    blocks->room = before.room != 0 ? before.room * 2 : 256;
    rows = calloc(blocks->room, sizeof(*rows));
    if (rows == NULL) {
        blocks->room = before.room;
        return false;
    }
    blocks->rows = rows;
    for (uint64_t at = 0; at < before.room; at++) {
        if (before.rows[at].address != 0) {
            *row_of(blocks, before.rows[at].address - 1) = before.rows[at];
        }
    }
    free(before.rows);
    return true;
}

bool
blocks_put(struct blocks *blocks, uint64_t address, unsigned order, unsigned mark)
{
    uint64_t older = blocks->newest[order];

    if (blocks->count * 2 >= blocks->room && !grow(blocks)) {
        return false;
    }
    *row_of(blocks, address) = (struct blocks_row){address + 1, older, BLOCKS_NONE, order, mark};
    if (older != BLOCKS_NONE) {
        row_of(blocks, older)->newer = address;
    }
    blocks->newest[order] = address;
    blocks->count++;
    return true;
}

/* Empties a row, and moves up the rows behind it that a search would no longer find. */
static void
empty(struct blocks *blocks, struct blocks_row *row)
{
    uint64_t mask = blocks->room - 1, hole = (uint64_t)(row - blocks->rows);

    for (uint64_t at = (hole + 1) & mask; blocks->rows[at].address != 0; at = (at + 1) & mask) {
        uint64_t wanted = home(blocks, blocks->rows[at].address - 1);
        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            blocks->rows[hole] = blocks->rows[at];
            hole = at;
        }
    }
    blocks->rows[hole].address = 0;
    blocks->count--;
}

bool
blocks_take(struct blocks *blocks, uint64_t address, unsigned order, unsigned *mark)
{
    struct blocks_row *row = blocks->room != 0 ? row_of(blocks, address) : NULL;

    if (row == NULL || row->address == 0 || row->order != order) {
        return false;
    }
    if (row->newer != BLOCKS_NONE) {
        row_of(blocks, row->newer)->older = row->older;
    } else {
        blocks->newest[order] = row->older;
    }
    if (row->older != BLOCKS_NONE) {
        row_of(blocks, row->older)->newer = row->newer;
    }
    *mark = row->mark;
    empty(blocks, row);
    return true;
}

bool
blocks_pop(struct blocks *blocks, unsigned order, uint64_t *address, unsigned *mark)
{
    *address = blocks->newest[order];
    return *address != BLOCKS_NONE && blocks_take(blocks, *address, order, mark);
}
