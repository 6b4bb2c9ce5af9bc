/* SPDX-License-Identifier: MIT */
/*
 * image: whether code belongs to libc or the loader.
 *
 * Why       libc frees memory while it holds locks of its own (glibc's stack cache at a thread's end, for one).  What may
 *           only be done without them, such as starting a thread, must not be done when libc is the caller.
 * Promises  no lock, no allocation, no system call but the first time.  Thread-safe.
 */
#ifndef HEW_OS_IMAGE_H
#define HEW_OS_IMAGE_H

#include "base/compiler.h"

/* The program has no loader: libc's code cannot be told from its own. */
bool hew_image_is_static(void);

/* `code` lies in libc's image or the loader's. */
bool hew_image_is_libc(const void *code);

#endif
