/* SPDX-License-Identifier: MIT */
/*
 * file: small files of the system, read by system call.  Allocates nothing, keeps errno.
 */
#ifndef HEW_OS_FILE_H
#define HEW_OS_FILE_H

#include "base/compiler.h"

/* The file's first bytes as text; false when it cannot be read or is empty. */
bool hew_file_read(const char *path, char *buffer, size_t capacity);

/* When the kernel makes pages huge: "always", "madvise" (when told to), "never", or "not supported". */
const char *hew_file_huge_pages(void);

#endif
