/* SPDX-License-Identifier: MIT */
/* residence: see residence.h.  Inner pages of an object belong to it alone; only its first and last page are shared,
 * and counted. */
#include "simulate/residence.h"

#include <stdlib.h>

#define LG_PAGE 12

bool
residence_begin(struct residence *residence)
{
    residence->pages = 0;
    residence->leaves = calloc(RESIDENCE_LEAVES, sizeof(*residence->leaves));
    return residence->leaves != NULL;
}

void
residence_end(struct residence *residence)
{
    for (uint64_t at = 0; residence->leaves != NULL && at < RESIDENCE_LEAVES; at++) {
        free(residence->leaves[at]);
    }
    free(residence->leaves);
    residence->leaves = NULL;
}

/* The count of a page; NULL: no memory, or beyond the counted range. */
static uint16_t *
count_of(struct residence *residence, uint64_t page)
{
    uint64_t leaf = page >> RESIDENCE_LG_LEAF;

    if (leaf >= RESIDENCE_LEAVES) {
        return NULL;
    }
    if (residence->leaves[leaf] == NULL) {
        residence->leaves[leaf] = calloc(UINT64_C(1) << RESIDENCE_LG_LEAF, sizeof(uint16_t));
    }
    return residence->leaves[leaf] != NULL ? &residence->leaves[leaf][page & ((UINT64_C(1) << RESIDENCE_LG_LEAF) - 1)]
                                           : NULL;
}

bool
residence_use(struct residence *residence, uint64_t address, uint64_t bytes)
{
    uint64_t first = address >> LG_PAGE, last = (address + bytes - 1) >> LG_PAGE;
    uint16_t *head = count_of(residence, first), *tail = last != first ? count_of(residence, last) : head;

    if (head == NULL || tail == NULL) {
        return false;
    }
    residence->pages += (*head)++ == 0;
    if (last != first) {
        residence->pages += (*tail)++ == 0;
        residence->pages += last - first - 1;
    }
    return true;
}

void
residence_leave(struct residence *residence, uint64_t address, uint64_t bytes)
{
    uint64_t first = address >> LG_PAGE, last = (address + bytes - 1) >> LG_PAGE;

    residence->pages -= --*count_of(residence, first) == 0;
    if (last != first) {
        residence->pages -= --*count_of(residence, last) == 0;
        residence->pages -= last - first - 1;
    }
}
