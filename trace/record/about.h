/* SPDX-License-Identifier: MIT */
/* about: what a trace says of the program: its command, its file, whose malloc was recorded; and at the end its mappings. */
#ifndef HEW_TRACE_RECORD_ABOUT_H
#define HEW_TRACE_RECORD_ABOUT_H

#include "base/compiler.h"

/* Writes the block INFO.  False: no room in the file. */
bool hew_trace_write_about(void);

/* Writes a block MODULES with what is mapped within [begin, end), which tells the stacks' readers where addresses lie. */
void hew_trace_write_modules(uintptr_t begin, uintptr_t end, uint64_t generation);

#endif
