/* SPDX-License-Identifier: MIT */
/*
 * harden: checks of each allocation and each free, with the setting hardening.
 *
 * With `check` each thread stands behind a front (cache/thread.h), so that every operation comes here.  The thread's
 * cache still serves it.
 *
 * Promises  a second free, a free of an address inside an object or of foreign memory, and any use of a free object by
 *           realloc or malloc_usable_size end the process before they change anything.  A write to the first word of
 *           a free object is reported when the object is next allocated.
 * Not here  the marks themselves: slab/mark.h.
 */
#ifndef HEW_ALLOC_HARDEN_H
#define HEW_ALLOC_HARDEN_H

#include "cache/cache.h"
#include "slab/mark.h"

/* Draws the key of the canaries.  Called at boot, after the settings were read. */
void hew_harden_boot(void);

/* Allocates an object of `code` that the thread's cache has at hand.  NULL: take the slow path. */
void *hew_harden_take(unsigned code);

/* An object, or NULL, leaves for the program.  Returns it. */
void *hew_harden_out(void *object);

/* An object comes back; `code` is what the address map shows.  False: a misuse, which a hook has received. */
bool hew_harden_back(const char *function, void *object, unsigned code);

/* The same for free(), and frees a small object if that is simple.  True: nothing is left to do. */
bool hew_harden_free(const char *function, void *object, unsigned code);

/* Reports a small or cached object that is free, or an address where none begins, when `function` asks about it. */
void hew_harden_look(const char *function, const void *object);

#endif
