/* SPDX-License-Identifier: MIT */
/* sizes: see sizes.h. */
#include "simulate/sizes.h"

#include <stdlib.h>
#include <string.h>

bool
sizes_begin(struct sizes *sizes)
{
    *sizes = (struct sizes){.rows = calloc(SIZES_ALIGNS, sizeof(*sizes->rows))};
    return sizes->rows != NULL;
}

void
sizes_end(struct sizes *sizes)
{
    free(sizes->rows);
    free(sizes->aligns);
}

/* NULL: no slab serves it. */
static struct sizes_row *
row_of(struct sizes *sizes, uint64_t size, unsigned align)
{
    return size <= CLASSES_SIZE_MAX && align < SIZES_ALIGNS ? &sizes->rows[align][(size + 7) / 8] : NULL;
}

static void
change(struct sizes *sizes, struct sizes_row *row, bool more)
{
    row->area += (double)row->live * (double)(sizes->operation - row->since);
    row->since = sizes->operation;
    row->live += more ? 1 : row->live != 0 ? UINT64_MAX : 0;
    row->allocations += more;
}

static bool
add(struct sizes *sizes, const struct hew_trace_operation *operation)
{
    unsigned align = operation->kind == HEW_TRACE_DID_ALLOCATE && operation->lg_align > SIZES_LG_ALIGN
                         ? operation->lg_align - SIZES_LG_ALIGN
                         : 0;
    struct sizes_row *row = row_of(sizes, operation->size, align);

    if (operation->slot >= sizes->room) {
        uint64_t room = (operation->slot + 1024) * 2;
        uint8_t *aligns = realloc(sizes->aligns, room);
        if (aligns == NULL) {
            return false;
        }
        memset(aligns + sizes->room, 0, room - sizes->room);
        sizes->aligns = aligns;
        sizes->room = room;
    }
    sizes->aligns[operation->slot] = (uint8_t)(align < SIZES_ALIGNS ? align : SIZES_ALIGNS);
    if (row != NULL) {
        change(sizes, row, true);
        sizes->live += operation->size;
    }
    return true;
}

static void
drop(struct sizes *sizes, const struct hew_trace_operation *operation)
{
    unsigned align = operation->ended_slot < sizes->room ? sizes->aligns[operation->ended_slot] : SIZES_ALIGNS;
    struct sizes_row *row = row_of(sizes, operation->ended_size, align);

    if (row != NULL && row->live != 0) {
        change(sizes, row, false);
        sizes->live -= operation->ended_size;
    }
}

static void
mark_peak(struct sizes *sizes)
{
    sizes->marked = sizes->live;
    for (unsigned align = 0; align < SIZES_ALIGNS; align++) {
        for (size_t step = 0; step < SIZES_STEPS; step++) {
            sizes->rows[align][step].at_peak = sizes->rows[align][step].live;
        }
    }
}

bool
sizes_take(struct sizes *sizes, const struct hew_trace_operation *operation)
{
    bool ends = operation->kind == HEW_TRACE_DID_FREE || operation->kind == HEW_TRACE_DID_REALLOCATE;
    bool makes = operation->kind == HEW_TRACE_DID_ALLOCATE || operation->kind == HEW_TRACE_DID_REALLOCATE;

    if (!ends && !makes) {
        return true;
    }
    sizes->operation++;
    if (ends) {
        drop(sizes, operation);
    }
    if (makes && !add(sizes, operation)) {
        return false;
    }
    if (sizes->live > sizes->marked + sizes->marked / 256) {
        mark_peak(sizes);
    }
    return true;
}

void
sizes_finish(struct sizes *sizes)
{
    for (unsigned align = 0; align < SIZES_ALIGNS; align++) {
        for (size_t step = 0; step < SIZES_STEPS; step++) {
            struct sizes_row *row = &sizes->rows[align][step];
            row->area += (double)row->live * (double)(sizes->operation - row->since);
            row->since = sizes->operation;
        }
    }
}
