/* SPDX-License-Identifier: MIT */
/* about: describes the program in the trace: its command, its file and its allocator; at the end its mappings and its
 * threads.  Blocks that are written in one piece. */
#ifndef HEW_TRACE_RECORD_ABOUT_H
#define HEW_TRACE_RECORD_ABOUT_H

#include "base/compiler.h"
#include "format/format.h"

/* Writes the INFO block.  False: the file has no space. */
bool hew_trace_write_about(void);

/* Writes a MODULES block with the mappings within [begin, end), so that readers can symbolize addresses. */
void hew_trace_write_modules(uintptr_t begin, uintptr_t end, uint64_t generation);

/* Writes a THREADS block with the names of the threads that are there now. */
HEW_COLD void hew_trace_write_threads(uint64_t generation);

/* Seals a room from hew_trace_take_room() as a block whose payload is there already, and leaves it. */
void hew_trace_close_room(struct hew_trace_block *block, uint8_t kind, size_t room, size_t length);

/* Reads a file into a buffer and returns the length; 0: it cannot be read. */
size_t hew_trace_read_file(const char *path, char *to, size_t most);

/* The start address in a line of /proc/PID/maps or, with `end`, the end address. */
uintptr_t hew_trace_maps_address(const char *line, const char *stop, bool end);

#endif
