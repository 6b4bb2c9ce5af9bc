/* SPDX-License-Identifier: MIT */
/*
 * python: the frames of CPython in a stack, each as FILE, FUNCTION and LINE.
 *
 * Owns      which interpreter is in the process, and the names of its frames, which are written into the trace once.
 * Promises  the interpreter runs nothing: a thread looks up its own state and reads it, by the layout of that version.  No malloc.
 *           Two threads with new names wait for each other.
 * Knows     CPython 3.11 to 3.13.  Of others there are native frames alone.
 */
#ifndef HEW_TRACE_RECORD_PYTHON_H
#define HEW_TRACE_RECORD_PYTHON_H

#include "os/object.h"

/* What a thread remembers of its last stack and of names. */
struct hew_python_memory;
size_t hew_python_memory_size(void);
void hew_python_forget(struct hew_python_memory *memory);

/* A program or library was met for the first time: it may have an interpreter in it. */
HEW_COLD void hew_python_meet(const struct hew_os_object *object);

/*
 * The node of a stack of native frames, the innermost first, with the frames of Python in their places: the interpreter's own frames
 * are left out.  0: this thread runs no Python, so the stack is as it is.
 */
uint32_t hew_python_node(struct hew_python_memory *memory, const uintptr_t *addresses, unsigned count);

#endif
