/* SPDX-License-Identifier: MIT */
/*
 * file: reads small system files by system call.  Allocates nothing, keeps errno.
 */
#ifndef HEW_OS_FILE_H
#define HEW_OS_FILE_H

#include "base/compiler.h"

/* Reads the file's first bytes as text.  False: the file cannot be read or is empty, as a pipe without data. */
bool hew_file_read(const char *path, char *buffer, size_t capacity);

/* Reads a whole regular file and adds a zero byte.  Returns the number of bytes; 0 if it is no such file or could not
 * be read in one call; `capacity` if it does not fit. */
size_t hew_file_read_whole(const char *path, char *buffer, size_t capacity);

/* Creates a file without a name.  `path` opens it in this thread, if /proc is mounted.  Returns -errno on failure. */
#define HEW_FILE_OWN_PATH 48
int hew_file_in_memory(char *path);
void hew_file_close(int file);

/* Reads bytes from an offset.  Returns 0 at the end of the file, a negative number on error. */
#define HEW_FILE_PIECE ((size_t)64 << 10)
long hew_file_read_piece(int file, uint64_t offset, void *bytes, size_t most);

/* Returns the bytes written, or -errno.  The signals for a file size limit (EFBIG) and for a pipe without readers
 * (EPIPE) do not end the program. */
long hew_file_write(int file, const void *bytes, size_t count);

/* Returns when the kernel uses huge pages: "always", "madvise" (only where advised), "never", or "not supported". */
const char *hew_file_huge_pages(void);

#endif
