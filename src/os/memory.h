/* SPDX-License-Identifier: MIT */
/*
 * memory: the contract with the system for pages.
 *
 * Addresses and sizes are multiples of HEW_PAGE.  Every call is thread-safe, keeps errno and allocates nothing.
 *
 * Any of them may be refused at any time: for want of memory, at a limit (address space, mappings), for locked memory, in a sandbox.
 * Then nothing has changed, but for hew_os_purge_ranges() and HEW_OS_PLACE_LOST, and no address is lost (tests/oom lets each call
 * fail in turn and looks for what is left):
 *
 *     mmap       a new region    page/grow.c asks for what is needed alone, then idle memory goes back (alloc/request.c), then malloc
 *                                gives NULL
 *                our own data    meta/space.c reserves half as much, again and again
 *                code map        meta/map.c opens it piece by piece
 *     munmap     idle memory     page/purge.c keeps it as retained, to be used or offered again; page/end.c leaves it to another heap
 *                an object whose guard stays, ends of what was mapped wider than needed, buffers
 *                                hew_os_unmap() keeps them, for the next hew_os_map()
 *                code map        meta/map.c goes on with what is still there
 *     mprotect   our own data    it stays closed, and is tried again at the next request; a leaf that is open waits for its window
 *                the guard of a large object    on: it has none; off: slab/large.c gives the object's addresses back
 *     madvise    purge           page/purge.c leaves the pages dirty or muzzy and ends the round; meta/memory.c and calloc write
 *                                zeros themselves
 *                advice          forgone
 *     mremap     a move          alloc/realloc.c copies; page/gather.c leaves idle pages where they are; what may have been destroyed is
 *                                never touched again
 *     brk        dss             mmap instead, or NULL
 *     mlockall   (os/process.h)  api/locked.c gives back what is only reserved, and asks again
 * Not here  which pages, and when: page/.
 */
#ifndef HEW_OS_MEMORY_H
#define HEW_OS_MEMORY_H

#include "base/compiler.h"
#include "os/mutex.h"

/* Every system call for memory passes here; tests put their own in to let the n-th call fail.  Set before threads. */
struct hew_os_faults {
    bool (*refuse)(const char *call);
};
extern struct hew_os_faults hew_os_faults;

HEW_INLINE bool
hew_os_is_refused(const char *call)
{
    return HEW_UNLIKELY(hew_os_faults.refuse != NULL) && hew_os_faults.refuse(call);
}

/*
 * New zero-filled read-write pages that are charged only when touched (MAP_NORESERVE); NULL when refused.
 * `alignment` is a power of two >= HEW_PAGE.  The system's answer decides the address.
 */
void *hew_os_map(size_t size, size_t alignment);

/* Address space that cannot be touched and costs no memory, not even when the program locks all it has; the next two open parts
 * of it, which read as zeros.  False: nothing has changed. */
void *hew_os_reserve(size_t size);
bool hew_os_make_readable(void *address, size_t size);
bool hew_os_make_writable(void *address, size_t size);

/* The pages can no longer be touched, until they are made writable.  False when the system refused. */
bool hew_os_guard(void *address, size_t size);

/* Zero-filled pages exactly at `address`, only if nothing is mapped there. */
bool hew_os_map_at(void *address, size_t size);

/* Gives pages and their address space back.  False when the system refused: all of them are as they were. */
bool hew_os_try_unmap(void *address, size_t size);

/* The same for who cannot keep what is refused: it stays here, is handed out by the next hew_os_map() that it fits, and is offered
 * to the system again after each one that it takes.  The pages must be writable. */
void hew_os_unmap(void *address, size_t size);

/* Drops the contents now: the pages read as zeros afterwards.  False when the system refused (contents kept). */
bool hew_os_purge(void *address, size_t size);

/* The same for several ranges in one call.  False when the system refused, or does not know how (before Linux 6.14): some
 * may have been dropped. */
struct hew_os_range { /* as struct iovec */
    void *address;
    size_t size;
};
bool hew_os_purge_ranges(const struct hew_os_range *ranges, unsigned count);

/* The system may drop the contents when it needs memory (MADV_FREE).  False when not supported. */
bool hew_os_purge_lazily(void *address, size_t size);

enum hew_os_moved {
    HEW_OS_MOVED,
    HEW_OS_NOT_MOVED,  /* nothing has changed */
    HEW_OS_PLACE_LOST, /* the pages are where they were, but what is at the new place is unknown: never touch it again */
};

/*
 * Moves the pages of [from, from + size) to [to, to + size), which must be mapped and hold nothing of value; the old
 * range stays mapped and reads as zeros.
 */
enum hew_os_moved hew_os_move(void *from, void *to, size_t size);

/* Whether it is worth asking: false once the system has shown that it cannot. */
bool hew_os_may_move(void);

/* Drops the contents, and what was moved there is one mapping again with what lies around it.  False when the system refused: nothing is
 * known of what is mapped there if it is out of memory for its own tables, else nothing has changed. */
bool hew_os_map_anew(void *address, size_t size);

/* Extends the data segment (sbrk) by `size` bytes aligned to `alignment`; NULL when refused. */
void *hew_os_extend_data(size_t size, size_t alignment);

/* For fork. */
extern struct hew_mutex hew_os_data_lock;

/* How many bytes of the range are in memory; 0 when the system does not tell. */
size_t hew_os_resident(void *address, size_t size);

/* Advice on transparent huge pages for a range, and on leaving a range out of core dumps. */
void hew_os_advise_huge(void *address, size_t size);
void hew_os_advise_small(void *address, size_t size);
void hew_os_advise_no_dump(void *address, size_t size);

#endif
