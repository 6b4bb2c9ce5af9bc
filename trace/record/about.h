/* SPDX-License-Identifier: MIT */
/* about: describes the program in the trace: its command, its file and its allocator; at the end its mappings. */
#ifndef HEW_TRACE_RECORD_ABOUT_H
#define HEW_TRACE_RECORD_ABOUT_H

#include "base/compiler.h"

/* Writes the INFO block.  False: the file has no space. */
bool hew_trace_write_about(void);

/* Writes a MODULES block with the mappings within [begin, end), so that readers can symbolize addresses. */
void hew_trace_write_modules(uintptr_t begin, uintptr_t end, uint64_t generation);

#endif
