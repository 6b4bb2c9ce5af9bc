/* SPDX-License-Identifier: MIT */
/*
 * space: the address space in which hew's own data lies, apart from the program's.
 *
 * Owns      reservations that cannot be touched, opened from one end to the other.  The first one is a part of the address
 *           map's (map.c), so that a small program has one mapping for both.
 * Promises  what lies at either end of the opened part cannot be touched: a program that writes on past the end of an object meets
 *           that, and never our data.  How far the opened part lies from there is drawn anew in each process.
 *           A part that was opened stays so.
 * Called    under hew_meta_lock, but for hew_space_draw().
 */
#ifndef HEW_META_SPACE_H
#define HEW_META_SPACE_H

#include "base/compiler.h"

/* What is at least between our data and whatever else is mapped: more than one access goes beyond an object by mistake. */
#define HEW_SPACE_GUARD ((size_t)64 << 10)

/* A reservation that nobody has opened any of is used up first. */
void hew_space_begin(void *reserved, size_t size);

/* Reservations are small from now on: address space counts. */
void hew_space_stay_small(void);

/* `size` bytes, whole pages, that are zero and can be written; NULL when the system refused. */
void *hew_space_open(size_t size);

/* Gives back what is not opened yet of the reservation, but for the guards: address space has become scarce. */
void hew_space_narrow(void);

/* A multiple of HEW_PAGE up to `most`, another one in each process and at each call. */
size_t hew_space_draw(size_t most);

#endif
