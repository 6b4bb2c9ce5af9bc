/* SPDX-License-Identifier: MIT */
/*
 * object: which loaded program or library an address lies in.
 *
 * Promises  allocates nothing.  With glibc 2.35 and newer no lock is taken either; before that, and with musl, the loader's own,
 *           which a thread may take again.
 */
#ifndef HEW_OS_OBJECT_H
#define HEW_OS_OBJECT_H

#include "base/compiler.h"

struct hew_os_object {
    uintptr_t begin, end;
    const uint8_t *unwind_index; /* its .eh_frame_hdr; NULL: none */
};

/* Whether constructors run already: before that no thread can be started. */
bool hew_os_loader_is_done(void);

/* False when no object is there: code made at run time. */
bool hew_os_find_object(uintptr_t address, struct hew_os_object *object);

/* Around fork(): nobody is under the loader's lock meanwhile who came through here. */
void hew_os_object_before_fork(void);
void hew_os_object_after_fork(bool child);

/* Copies `size` bytes of this process.  False when they cannot all be read; never faults. */
bool hew_os_peek(uintptr_t address, void *bytes, size_t size);

#endif
