/* SPDX-License-Identifier: MIT */
/*
 * pymalloc: the objects of CPython's own allocator, which takes memory by mmap in arenas and hands out pieces of them.
 *
 * Promises  the interpreter's table of allocators is changed before it runs anything, or not at all.  An object is recorded with the size
 *           that was asked for; what the allocator asks malloc for on its behalf is not recorded beside it.
 */
#ifndef HEW_TRACE_RECORD_PYMALLOC_H
#define HEW_TRACE_RECORD_PYMALLOC_H

#include "base/compiler.h"

/* Stands before the allocators of memory and of objects. */
HEW_COLD void hew_pymalloc_take(void);

#endif
