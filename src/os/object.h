/* SPDX-License-Identifier: MIT */
/*
 * object: finds the loaded program or library that contains an address.
 *
 * Promises  Allocates nothing.  With glibc 2.35 and newer it takes no lock either.  Before that, and with musl, it
 *           takes the loader's lock, which is recursive.
 */
#ifndef HEW_OS_OBJECT_H
#define HEW_OS_OBJECT_H

#include "base/compiler.h"

struct hew_os_object {
    uintptr_t begin, end;
    const uint8_t *unwind_index; /* its .eh_frame_hdr; NULL: none */
    const char *path;            /* the loader's text, valid while loaded; "" for the program */
};

/* An executable piece of a loaded file, as a line of /proc/self/maps describes it. */
struct hew_os_code {
    uintptr_t begin, end;
    uint64_t offset; /* in the file */
    char *path;      /* the caller's buffer of `path_bytes` */
    size_t path_bytes;
};

/* Returns true once constructors run.  Before that no thread can be started. */
bool hew_os_loader_is_done(void);

/* False: no object contains the address, as for code generated at run time. */
bool hew_os_find_object(uintptr_t address, struct hew_os_object *object);

/* Finds the lowest executable piece that begins at or above `from`.  Uses the loader, for processes without /proc.
 * False: there is none. */
bool hew_os_next_code(uintptr_t from, struct hew_os_code *code);

/* Call around fork().  In between, no thread holds the loader's lock through this module. */
void hew_os_object_before_fork(void);
void hew_os_object_after_fork(bool child);

/* Tests whether eight bytes can be read, with a system call that every kernel and every filter allows. */
bool hew_os_is_readable(uintptr_t address);

/* Copies `size` bytes of this process.  False: some of them cannot be read.  Never faults. */
bool hew_os_peek(uintptr_t address, void *bytes, size_t size);

#endif
