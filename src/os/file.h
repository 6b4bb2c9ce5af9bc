/* SPDX-License-Identifier: MIT */
/*
 * file: small files of the system, read by system call.  Allocates nothing, keeps errno.
 */
#ifndef HEW_OS_FILE_H
#define HEW_OS_FILE_H

#include "base/compiler.h"

/* The file's first bytes as text; false when it cannot be read or is empty, as a pipe
 * that has nothing yet. */
bool hew_file_read(const char *path, char *buffer, size_t capacity);

/* A whole file, which has a size, into a buffer that is larger than it: its bytes, and a zero behind them.  0 when it is no such file,
 * or could not be read in one go; `capacity` when it is too large. */
size_t hew_file_read_whole(const char *path, char *buffer, size_t capacity);

/* A file without a name; `path` opens it in this thread, where there is a /proc.  -errno when there can be none. */
#define HEW_FILE_OWN_PATH 48
int hew_file_in_memory(char *path);
void hew_file_close(int file);

/* Its bytes from an offset on; 0 at its end, below 0 on an error. */
#define HEW_FILE_PIECE ((size_t)64 << 10)
long hew_file_read_piece(int file, uint64_t offset, void *bytes, size_t most);

/* Bytes written, or -errno.  A limit of file sizes (EFBIG) and a pipe that nobody reads (EPIPE) end no program by their signals. */
long hew_file_write(int file, const void *bytes, size_t count);

/* When the kernel makes pages huge: "always", "madvise" (when told to), "never", or "not supported". */
const char *hew_file_huge_pages(void);

#endif
