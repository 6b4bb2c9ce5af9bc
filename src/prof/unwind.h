/* SPDX-License-Identifier: MIT */
/*
 * unwind: the calling thread's stack as return addresses.
 *
 * Owns      a cache of rules by program counter, so that a known frame costs some ten nanoseconds.  An entry is believed
 *           only while the same object is still mapped there.
 * Promises  no memory is allocated and no lock is taken (but the loader's, before glibc 2.35), so it may be called in
 *           signal handlers and while any lock is held; frames without tables, such as code made at run time, are walked by
 *           frame pointer, with reads that cannot fault.
 * Needs     .eh_frame_hdr, which every dynamic program has, and a static one that was linked with -Wl,--eh-frame-hdr or
 *           as PIE; other static programs must have been compiled with -fno-omit-frame-pointer.
 * Not here  what a table says: cfi.h.
 */
#ifndef HEW_PROF_UNWIND_H
#define HEW_PROF_UNWIND_H

#include "os/object.h"
#include "prof/cfi.h"

/* Once, at boot: finds out which frames are our own.  `notice`, which may be NULL, is called amid a walk with each object that
 * a frame lies in whose rule is not at hand: always when it is seen for the first time, and now and then later. */
void hew_unwind_boot(void (*notice)(const struct hew_os_object *object));

/*
 * Up to `most` frames from the caller outwards, without those of libhew itself at the front: which of its functions were
 * at work says nothing about the program, and the one that it called has often left by a tail call.  In a static program
 * they cannot be told from the program's own, and stay.  Frames whose stack lies below the address `inner` are left out,
 * too: a hook of the program's that stands between us and our caller.
 */
unsigned hew_unwind(uintptr_t *frames, unsigned most, uintptr_t inner);

/* The rule that the tables have for code at `pc`, of a frame that has called: the return address - 1.  For walks that remember rules
 * themselves.  False: no table covers it. */
bool hew_unwind_find(uintptr_t pc, struct hew_cfi_rule *rule);

#endif
