/* SPDX-License-Identifier: MIT */
/*
 * slots: the words through which loaded objects call the functions of malloc.c and new.c, in a process that started without us.
 *
 * Promises  a word is changed by one store: a call goes to us or to the allocator.  No malloc.
 * Called    by one thread at a time.
 */
#ifndef HEW_TRACE_RECORD_SLOTS_H
#define HEW_TRACE_RECORD_SLOTS_H

/* Has every word call us that calls the allocator; how many there were, -1 when a program has an address for them that is its own. */
long hew_slots_take(void);

/* The other way round. */
void hew_slots_give(void);

#endif
