/* SPDX-License-Identifier: MIT */
/*
 * slots: the pointers (GOT slots) through which loaded objects call the functions of malloc.c and new.c, in a process
 * that started without this library.
 *
 * Promises  a pointer is changed by one store: a call goes to this library or to the allocator.  No malloc.
 * Called    by one thread at a time.
 */
#ifndef HEW_TRACE_RECORD_SLOTS_H
#define HEW_TRACE_RECORD_SLOTS_H

/* Redirects every pointer to the allocator to this library and returns how many there were; -1 if a program uses its
 * own address for these functions. */
long hew_slots_take(void);

/* Restores all of them. */
void hew_slots_give(void);

#endif
