/* SPDX-License-Identifier: MIT */
/* finish: closes the blocks that a trace's threads left open, in place, so that a reader of headers alone knows their lengths. */
#ifndef HEW_TRACE_FORMAT_FINISH_H
#define HEW_TRACE_FORMAT_FINISH_H

#include "format/reader.h"

/*
 * bytes[0 .. size): a whole file that nobody writes any more.  Open blocks of operations and of stacks become closed ones of as many bytes as can be
 * read; how many there were is the result.  Blocks that are not at their place (never written) are passed over.
 */
size_t hew_trace_finish(uint8_t *bytes, size_t size);

#endif
