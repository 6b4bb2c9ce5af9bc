/* SPDX-License-Identifier: MIT */
/*
 * space: the address space for hew's own metadata, apart from the program's memory.
 *
 * Owns      reservations that are inaccessible, and opened from one end to the other.  The first is a part of the
 *           address map's (map.c), so that a small program has one mapping for both.
 * Promises  both ends of the opened part border on inaccessible memory: a program that writes past the end of an object
 *           hits that, and never our metadata.  Each process draws the distance of the opened part from there at
 *           random.  An opened part stays open.
 * Called    under hew_meta_lock, except hew_space_draw().
 */
#ifndef HEW_META_SPACE_H
#define HEW_META_SPACE_H

#include "base/compiler.h"

/* The least distance between our metadata and any other mapping: more than a mistaken access usually reaches beyond an
 * object. */
#define HEW_SPACE_GUARD ((size_t)64 << 10)

/* Uses up this reservation first; none of it may be open yet. */
void hew_space_begin(void *reserved, size_t size);

/* Keeps reservations small from now on, because address space is limited. */
void hew_space_stay_small(void);

/* Opens `size` bytes, whole pages, zeroed and writable; NULL when the system refused. */
void *hew_space_open(size_t size);

/* Unmaps the unopened rest of the reservation, except the guards, because address space has become scarce. */
void hew_space_narrow(void);

/* Returns a random multiple of the system's pages up to `most`, different in each process and at each call. */
size_t hew_space_draw(size_t most);

#endif
