/* SPDX-License-Identifier: MIT */
/*
 * unwind: returns the calling thread's stack as return addresses.
 *
 * Owns      a cache of rules by program counter, so that a known frame costs some ten nanoseconds.  An entry is used
 *           only while the same object is still mapped there.
 * Promises  no memory is allocated and no lock is taken (except the loader's, before glibc 2.35).  So it may be called
 *           in signal handlers and while any lock is held.  Frames without tables, such as JIT code, are walked by
 *           frame pointer, with reads that cannot fault.
 * Needs     .eh_frame_hdr.  Every dynamic program has it; a static one must be linked with -Wl,--eh-frame-hdr or as
 *           PIE.  Other static programs must be compiled with -fno-omit-frame-pointer.
 * Not here  the contents of a table: cfi.h.
 */
#ifndef HEW_PROF_UNWIND_H
#define HEW_PROF_UNWIND_H

#include "os/object.h"
#include "prof/cfi.h"

/* Called once, at boot: finds the address ranges of hew's own frames.  A walk calls `notice`, which may be NULL, for
 * the object of a frame whose rule is not cached: always when the object is first seen, and occasionally later. */
void hew_unwind_boot(void (*notice)(const struct hew_os_object *object));

/* Stores up to `most` frames, innermost first, without libhew's own leading frames: they say nothing about the program,
 * and a tail call has often removed the exported function.  In a static program they cannot be distinguished from the
 * program's own, and stay.  Frames whose stack lies below the address `inner` are left out too: a hook of the program
 * that runs between hew and hew's caller. */
unsigned hew_unwind(uintptr_t *frames, unsigned most, uintptr_t inner);

/* The tables' rule for the code at `pc`, which must be a return address - 1.  For callers with a rule cache of their
 * own.  False: no table covers it. */
bool hew_unwind_find(uintptr_t pc, struct hew_cfi_rule *rule);

#endif
