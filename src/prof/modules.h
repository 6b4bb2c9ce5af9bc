/* SPDX-License-Identifier: MIT */
/*
 * modules: the libraries that sampled stacks ran through, also after dlclose().
 *
 * Owns      a table of 256 libraries with address, path and build id.  A library that comes when it is full is not noted.
 * Promises  no lock, no memory: a walk of the stack may note one in a signal handler.
 * Why       /proc/self/maps, read when a profile is written, no longer has what was closed before: its frames would be bare
 *           addresses, and nothing would say why.
 * Not here  what is mapped now: mappings.h.
 */
#ifndef HEW_PROF_MODULES_H
#define HEW_PROF_MODULES_H

#include "os/object.h"
#include "prof/mappings.h"

/* Notes an object that is loaded now.  The program itself is never closed, and left out. */
void hew_modules_note(const struct hew_os_object *object);

/* The lowest code of a noted library between two addresses; of two that lay at one place the later.  False: there is none. */
bool hew_modules_next(uintptr_t from, uintptr_t limit, struct hew_mapping *mapping);

#endif
