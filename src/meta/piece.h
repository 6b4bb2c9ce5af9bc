/* SPDX-License-Identifier: MIT */
/*
 * piece: the source of memory.h's pieces: chunks of the metadata address space, and lists of freed pieces, by size.
 *
 * Owns      chunks (space.h), never returned; each freed piece that no CPU has in its lists.
 * Promises  pieces are aligned to a cache line; freed ones stay mapped.
 * Thread-safe: hew_meta_lock, one for the process; the innermost lock except the data segment's.
 * Not here  memory.c, the only caller, rounds sizes and zeroes memory.
 */
#ifndef HEW_META_PIECE_H
#define HEW_META_PIECE_H

#include "base/size_class.h"
#include "os/mutex.h"

#define HEW_PIECE_MAX ((size_t)32 << 10) /* larger pieces are whole pages */

/* A free piece of at most HEW_PIECE_MAX bytes, in its first bytes. */
struct hew_piece {
    struct hew_piece *next;
};

/* Bytes mapped from the system, those of them ever allocated, and those in use. */
struct hew_meta_usage {
    size_t mapped, touched, used;
};

/* `bytes` is the size of a usual class, or whole pages above HEW_PIECE_MAX.  The first `*dirty` bytes are not zero.
 * NULL when the system has no more memory. */
void *hew_piece_take(size_t bytes, size_t *dirty);

/* Moves up to `wanted` freed pieces of a usual class to the front of `*list`.  Returns how many. */
unsigned hew_piece_take_free(unsigned code, unsigned wanted, struct hew_piece **list);

/* Frees `count` pieces of a usual class, linked from `first` to `last`.  Returns whether threads have waited for the
 * lock: frequent callers should then not come here each time. */
bool hew_piece_give(struct hew_piece *first, struct hew_piece *last, unsigned count, unsigned code);

/* Frees one of more than HEW_PIECE_MAX bytes: its memory returns to the system. */
void hew_piece_give_whole(void *piece, size_t bytes);

/* As hew_meta_take_pages() and its kin in memory.h. */
void *hew_piece_take_pages(size_t size);
bool hew_piece_has_pages(size_t size);
void hew_piece_narrow(void);
struct hew_meta_usage hew_piece_usage(void);

extern struct hew_mutex hew_meta_lock;

#endif
