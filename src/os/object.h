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
    const char *path;            /* as the loader has it, while it is loaded; "" for the program */
};

/* A piece of a loaded file that can be executed, as a line of /proc/self/maps tells it. */
struct hew_os_code {
    uintptr_t begin, end;
    uint64_t offset; /* in the file */
    char *path;      /* the caller's memory, of `path_bytes` */
    size_t path_bytes;
};

/* Whether constructors run already: before that no thread can be started. */
bool hew_os_loader_is_done(void);

/* False when no object is there: code made at run time. */
bool hew_os_find_object(uintptr_t address, struct hew_os_object *object);

/* The lowest such piece that begins at or above `from`, by the loader, for processes without /proc.  False: there is none. */
bool hew_os_next_code(uintptr_t from, struct hew_os_code *code);

/* Around fork(): nobody is under the loader's lock meanwhile who came through here. */
void hew_os_object_before_fork(void);
void hew_os_object_after_fork(bool child);

/* Copies `size` bytes of this process.  False when they cannot all be read; never faults. */
bool hew_os_peek(uintptr_t address, void *bytes, size_t size);

#endif
