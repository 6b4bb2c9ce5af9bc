/* SPDX-License-Identifier: MIT */
/* finish: closes, in place, the blocks that a trace's threads left open, so that readers can rely on the headers'
 * lengths. */
#ifndef HEW_TRACE_FORMAT_FINISH_H
#define HEW_TRACE_FORMAT_FINISH_H

#include "format/reader.h"

/*
 * bytes[0 .. size): a whole file that no process writes any more.  Open blocks of operations and of stacks become
 * closed blocks with as many bytes as are readable.  Returns how many there were.  Blocks without a valid header (never
 * written) are skipped.
 */
size_t hew_trace_finish(uint8_t *bytes, size_t size);

#endif
