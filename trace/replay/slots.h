/* SPDX-License-Identifier: MIT */
/*
 * slots: where replayed objects' addresses will lie, so that no two objects that may live at once share a place.
 *
 * An object that its own thread frees has a slot of that thread's, free again at once.  One that is handed to another thread has a
 * slot of all, which is free again only two windows after its end: by then nobody can take one object for the other.
 */
#ifndef HEW_TRACE_REPLAY_SLOTS_H
#define HEW_TRACE_REPLAY_SLOTS_H

#include "format/reader.h"

struct hew_slots {
    uint32_t *free_next;   /* by slot: the next free one, 1 more */
    uint32_t *free_window; /* by slot: when it was freed */
    size_t capacity;
    uint64_t count;
    uint32_t *own_free;  /* by thread: its free slots, 1 more */
    uint32_t *own_fresh; /* by thread: slots of its page that were never used */
    uint32_t *own_end;
    uint32_t handed_first; /* free ones of all, oldest first, 1 more */
    uint32_t handed_last;
    uint32_t handed_fresh;
    uint32_t handed_end;
};

bool hew_slots_begin(struct hew_slots *slots, uint32_t threads);
void hew_slots_end(struct hew_slots *slots);

/* False: no memory, or more than a plan can name. */
bool hew_slots_take(struct hew_slots *slots, uint32_t thread, bool handed, uint32_t window, uint32_t *slot);
void hew_slots_give(struct hew_slots *slots, uint32_t thread, bool handed, uint32_t window, uint32_t slot);

#endif
