/* SPDX-License-Identifier: MIT */
/*
 * python: CPython's frames in a stack, each as FILE, FUNCTION and LINE.
 *
 * Owns      which interpreter is in the process, and the names of its frames, which are written into the trace once.
 * Promises  no interpreter code runs: a thread finds its own state and reads it, by the layout of that version.  No
 *           malloc.  Two threads with new names wait for each other.
 * Knows     CPython 3.11 to 3.13.  Other versions get native frames only.
 */
#ifndef HEW_TRACE_RECORD_PYTHON_H
#define HEW_TRACE_RECORD_PYTHON_H

#include "os/object.h"

/* A thread's cache of its last stack and of names. */
struct hew_python_memory;
size_t hew_python_memory_size(void);
void hew_python_forget(struct hew_python_memory *memory);

/* A program or library was seen for the first time; it may contain an interpreter. */
HEW_COLD void hew_python_meet(const struct hew_os_object *object);

/*
 * The node of a stack of native frames, innermost first, with Python frames inserted in their places and the
 * interpreter's own frames left out.  0: this thread runs no Python, so the native stack is complete.
 */
uint32_t hew_python_node(struct hew_python_memory *memory, const uintptr_t *addresses, unsigned count);

#endif
