/* SPDX-License-Identifier: MIT */
/*
 * slots: assigns slots for the addresses of replayed objects, so that no two objects that may be live at once share
 * one.
 *
 * An object that its own thread frees has a slot of that thread, which is reusable at once.  An object that passes to
 * another thread has a shared slot, which is reusable only two windows after the object's end: by then no thread can
 * confuse the two objects.
 */
#ifndef HEW_TRACE_REPLAY_SLOTS_H
#define HEW_TRACE_REPLAY_SLOTS_H

#include "format/reader.h"

struct hew_slots {
    uint32_t *free_next;   /* by slot: the next free slot + 1 */
    uint32_t *free_window; /* by slot: the window in which it was freed */
    size_t capacity;
    uint64_t count;
    uint32_t *own_free;  /* by thread: first of its free slots, + 1 */
    uint32_t *own_fresh; /* by thread: slots of its page that were never used */
    uint32_t *own_end;
    uint32_t handed_first; /* shared free slots, oldest first, + 1 */
    uint32_t handed_last;
    uint32_t handed_fresh;
    uint32_t handed_end;
};

bool hew_slots_begin(struct hew_slots *slots, uint32_t threads);
void hew_slots_end(struct hew_slots *slots);

/* False: no memory, or more slots than a plan can name. */
bool hew_slots_take(struct hew_slots *slots, uint32_t thread, bool handed, uint32_t window, uint32_t *slot);
void hew_slots_give(struct hew_slots *slots, uint32_t thread, bool handed, uint32_t window, uint32_t slot);

#endif
