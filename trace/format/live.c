/* SPDX-License-Identifier: MIT */
#include "format/live.h"

#include "format/table.h"

struct entry {
    struct hew_trace_key key; /* value: the slot, plus 1 */
    uint64_t size;
};

struct hew_trace_live {
    struct hew_trace_table table;
    uint32_t *free_slots; /* capacity: one for each slot */
    size_t free_count;
    uint32_t slots; /* slots created so far */
};

struct hew_trace_live *
hew_trace_live_new(void)
{
    struct hew_trace_live *live = calloc(1, sizeof(*live));

    if (live == NULL) {
        return NULL;
    }
    live->free_slots = calloc(HEW_TRACE_TABLE_FIRST / 2, sizeof(*live->free_slots));
    if (!hew_trace_table_begin(&live->table, sizeof(struct entry)) || live->free_slots == NULL) {
        hew_trace_live_free(live);
        return NULL;
    }
    return live;
}

void
hew_trace_live_free(struct hew_trace_live *live)
{
    if (live != NULL) {
        hew_trace_table_end(&live->table);
        free(live->free_slots);
        free(live);
    }
}

/* Doubles the capacity; without memory it stays. */
static bool
grow(struct hew_trace_live *live)
{
    uint32_t *slots = realloc(live->free_slots, (live->table.mask + 1) * sizeof(*slots));

    if (slots == NULL) {
        return false;
    }
    live->free_slots = slots;
    return hew_trace_table_grow(&live->table, sizeof(struct entry));
}

bool
hew_trace_live_add(struct hew_trace_live *live, struct hew_trace_object object, uint64_t size, uint64_t *slot)
{
    struct entry *entry;

    if (hew_trace_table_is_full(&live->table) && (live->slots == UINT32_MAX - 1 || !grow(live))) {
        return false;
    }
    entry = (struct entry *)hew_trace_table_add(&live->table, sizeof(*entry), object);
    if (entry->key.value == 0) {
        entry->key.value = 1 + (live->free_count > 0 ? live->free_slots[--live->free_count] : live->slots++);
    }
    entry->size = size;
    *slot = entry->key.value - 1;
    return true;
}

bool
hew_trace_live_take(struct hew_trace_live *live, struct hew_trace_object object, uint64_t *slot, uint64_t *size)
{
    struct entry taken;

    if (!hew_trace_table_take(&live->table, sizeof(taken), object, &taken)) {
        return false;
    }
    *slot = taken.key.value - 1;
    *size = taken.size;
    live->free_slots[live->free_count++] = taken.key.value - 1;
    return true;
}
