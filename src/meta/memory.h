/* SPDX-License-Identifier: MIT */
/*
 * memory: where hew's own data lives, apart from the program's.
 *
 * Owns      chunks from the system, never given back; freed pieces are kept by size and reused.
 * Promises  zero-filled memory aligned to a cache line; freed pieces of up to 1 MiB stay mapped, so that a stale reader
 *           never faults.
 * Thread-safe: one lock of its own, the innermost of all.
 */
#ifndef HEW_META_MEMORY_H
#define HEW_META_MEMORY_H

#include "base/compiler.h"
#include "os/mutex.h"

/* NULL when the system has no more memory. */
void *hew_meta_take(size_t size);

/* The same with anything in it. */
void *hew_meta_take_raw(size_t size);

/* The same with the contents of `model`; what lies behind them is not zero. */
void *hew_meta_take_copy(const void *model, size_t size);

/* `size` is what was asked for.  Above 1 MiB the piece goes back to the system. */
void hew_meta_give(void *piece, size_t size);

/* Bytes taken from the system, those of them that have ever been handed out, and those in use, for statistics. */
struct hew_meta_usage {
    size_t mapped, touched, used;
};
struct hew_meta_usage hew_meta_usage(void);

/* For fork, and for lock statistics. */
extern struct hew_mutex hew_meta_lock;

#endif
