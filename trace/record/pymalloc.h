/* SPDX-License-Identifier: MIT */
/*
 * pymalloc: records objects of CPython's own allocator, which maps arenas with mmap and allocates pieces of them.
 *
 * Promises  the interpreter's table of allocators is changed before it runs any code, or not at all.  An object is
 *           recorded with its requested size; the allocator's own malloc calls for it are not recorded.
 */
#ifndef HEW_TRACE_RECORD_PYMALLOC_H
#define HEW_TRACE_RECORD_PYMALLOC_H

#include "base/compiler.h"

/* Interposes the allocators of memory and of objects. */
HEW_COLD void hew_pymalloc_take(void);

#endif
