/* SPDX-License-Identifier: MIT */
/* names: names of frames without an address: each is written into the trace once, and has a number. */
#ifndef HEW_TRACE_RECORD_NAMES_H
#define HEW_TRACE_RECORD_NAMES_H

#include "base/compiler.h"

/* The number of a function at a line of a file; a node has it in place of an address.  0: no space for another name.
 * Names are UTF-8 without control characters. */
uint64_t hew_trace_name(const char *function, const char *file, int line);

#endif
