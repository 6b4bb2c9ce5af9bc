/* SPDX-License-Identifier: MIT */
/*
 * operations: what the simulated program does.
 */
#ifndef HEW_SIMULATE_OPERATIONS_H
#define HEW_SIMULATE_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;

/* The next operation of the calling thread, drawn from its dice.  False: the thread wants to end and be followed. */
bool operations_one(unsigned thread, uint32_t number);

/* One on an object; one of the rarer calls (controls.c). */
void operations_on_object(unsigned thread);
void controls_one(void);

/* Frees whatever is left, and arenas and caches with it. */
void operations_free_all(void);
void controls_end_all(void);

/* Arenas and caches that the program has made (controls.c): a number to use for one operation, -1: none.  The one who uses
 * it says when he has done. */
int controls_borrow_arena(void);
bool controls_borrow_arena_of(uint32_t arena);
void controls_return_arena(uint32_t arena);
int controls_borrow_cache(void);
void controls_return_cache(int number);

/* What a call was and gave, for the history of a run. */
void operations_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* With all threads at rest: the library's statistics are the model's. */
void quiet_check(void);

/* With everything freed and only one thread left. */
void quiet_check_empty(void);

#endif
