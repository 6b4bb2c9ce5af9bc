/* SPDX-License-Identifier: MIT */
/*
 * modules: the libraries that sampled stacks ran through, kept also after dlclose().
 *
 * Owns      a table of 256 libraries with address, path and build id.  When it is full, new libraries are not recorded.
 * Promises  no lock, no memory: a stack walk in a signal handler may add one.
 * Why       /proc/self/maps is read when a profile is written, and no longer has closed libraries.  Without this table
 *           their frames would be bare addresses with no explanation.
 * Not here  what is mapped now: mappings.h.
 */
#ifndef HEW_PROF_MODULES_H
#define HEW_PROF_MODULES_H

#include "os/object.h"
#include "prof/mappings.h"

/* Records an object that is loaded now.  The program itself is skipped: it is never closed. */
void hew_modules_note(const struct hew_os_object *object);

/* The lowest code range of a recorded library between two addresses.  If two libraries were at one place, the later
 * one.  False: none. */
bool hew_modules_next(uintptr_t from, uintptr_t limit, struct hew_mapping *mapping);

#endif
