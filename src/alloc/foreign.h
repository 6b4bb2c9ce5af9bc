/* SPDX-License-Identifier: MIT */
/*
 * foreign: objects of the allocator that served the process before `hew swap` (docs/swap.md).
 *
 * Owns      hew_swapped, which the tool writes while all threads are stopped.  All zeros in other processes.
 * Promises  no fast path changes: these functions are called only for addresses whose byte in the address map is
 *           HEW_CODE_NONE, and there a process that was not swapped pays one load and one compare.  An object of the
 *           old allocator never gets into a magazine or a bin.
 * Not here  the change of the functions' first bytes: tool/src/hew/sources/swap/.
 */
#ifndef HEW_ALLOC_FOREIGN_H
#define HEW_ALLOC_FOREIGN_H

#include "meta/map.h"

/* The tool reads and writes these words by their position. */
struct hew_swapped {
    void (*free)(void *object); /* the old allocator's, past the changed bytes; NULL: the process was not swapped */
    size_t (*usable)(void *object);
    void *(*malloc)(size_t size);
    void *(*realloc)(void *object, size_t size);
    const char *settings;            /* stronger than any other source; NULL: none.  Read at boot */
    uintptr_t place;                 /* the tool's mapping with those functions */
    _Atomic uint64_t frees, resizes; /* objects of the old allocator that were freed, or moved to hew by realloc */
};
extern HEW_PROTECTED struct hew_swapped hew_swapped;

/* Returns false for NULL, and for addresses in hew's memory, in a loaded object or in memory that cannot be read. */
HEW_COLD bool hew_foreign_is_plausible(const void *object);

/* Returns true if this address, whose byte in the address map is `code`, may be an object of the old allocator. */
HEW_INLINE bool
hew_foreign_is(const void *object, unsigned code)
{
    return HEW_UNLIKELY(hew_swapped.free != NULL) && code == HEW_CODE_NONE && hew_foreign_is_plausible(object);
}

/* Frees the object, which hew_foreign_is(). */
HEW_COLD void hew_foreign_free(void *object);

/* Its usable size. */
HEW_COLD size_t hew_foreign_usable(const void *object);

/* Counts an object that realloc has moved to hew.  The caller frees the old one. */
HEW_COLD void hew_foreign_count_move(void);

/* Flags of mallocx without the numbers of arenas and caches, which in a swapped process are the old allocator's. */
HEW_INLINE int
hew_foreign_flags(int flags, int kept)
{
    return HEW_UNLIKELY(hew_swapped.free != NULL) ? flags & kept : flags;
}

#endif
