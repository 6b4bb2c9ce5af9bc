/* SPDX-License-Identifier: MIT */
/*
 * memory: the system calls for pages.
 *
 * Addresses and sizes are multiples of hew_system_page.  Every call is thread-safe, keeps errno and allocates nothing.
 *
 * The system may refuse any call at any time: out of memory, at a limit (address space, mappings), for locked memory,
 * in a sandbox.  Then nothing has changed, except for hew_os_purge_ranges() and HEW_OS_PLACE_LOST, and no address is
 * lost.  tests/oom makes each call fail in turn and checks for leaks.  How each caller handles a refusal:
 *
 *     mmap       a new region    page/grow.c retries with only what is needed, then idle memory is returned
 *                                (alloc/request.c), then malloc returns NULL
 *                hew's own data  meta/space.c reserves half as much, repeatedly
 *                code map        meta/map.c opens it piece by piece
 *     munmap     idle memory     page/purge.c keeps it as retained, to reuse or return later; page/end.c leaves it to
 *                                another heap
 *                an object whose guard stays, ends of a mapping that was wider than needed, buffers
 *                                hew_os_unmap() keeps them for the next hew_os_map()
 *                code map        meta/map.c continues with what is still mapped
 *     mprotect   hew's own data  it stays closed until the next request retries; a leaf that is open waits for its
 *                                window
 *                the guard of a large object    on: it has none; off: slab/large.c unmaps the object
 *     madvise    purge           page/purge.c leaves the pages dirty or muzzy and ends the pass; meta/memory.c and
 *                                calloc write zeros themselves
 *                advice          ignored
 *     madvise    fences          guard/slots.c uses mprotect instead
 *     mremap     a move          alloc/realloc.c copies; page/gather.c leaves idle pages in place; pages that may be
 *                                destroyed are never touched again
 *     brk        dss             mmap instead, or NULL
 *     mlockall   (os/process.h)  api/locked.c releases what is only reserved, and retries
 * Not here  which pages, and when: page/.
 */
#ifndef HEW_OS_MEMORY_H
#define HEW_OS_MEMORY_H

#include "base/compiler.h"
#include "os/mutex.h"

/* Every system call for memory checks this hook.  Tests set it to make the n-th call fail, before they start
 * threads. */
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
 * Maps new zero-filled read-write pages, which are charged only when touched (MAP_NORESERVE).  NULL: refused.
 * `alignment` is a power of two.  The system chooses the address.
 */
void *hew_os_map(size_t size, size_t alignment);

/* hew_os_reserve() reserves address space that cannot be touched and costs no memory, even if the program locks all its
 * memory.  The other two open parts of it, which read as zeros.  False: nothing has changed. */
void *hew_os_reserve(size_t size);
bool hew_os_make_readable(void *address, size_t size);
bool hew_os_make_writable(void *address, size_t size);

/* Makes the pages inaccessible until they are made writable.  False: the system refused. */
bool hew_os_guard(void *address, size_t size);

/* The first makes pages of a writable mapping inaccessible without a mapping of their own, and drops their contents.  The
 * second opens them again: they read as zeros.  False: the system refused, or has no such call (before Linux 6.13), and
 * nothing has changed. */
bool hew_os_fence(void *address, size_t size);
bool hew_os_unfence(void *address, size_t size);

/* Maps zero-filled pages exactly at `address`, only if nothing is mapped there. */
bool hew_os_map_at(void *address, size_t size);

/* Unmaps pages and their address space.  False: the system refused, and nothing has changed. */
bool hew_os_try_unmap(void *address, size_t size);

/* Like hew_os_try_unmap(), for a caller that cannot keep what the system refuses.  The range is kept here and reused by
 * the next hew_os_map() that it fits.  It is also offered to the system again after each successful unmap.  The pages
 * must be writable. */
void hew_os_unmap(void *address, size_t size);

/* Drops the contents now: the pages then read as zeros.  False: the system refused, and the contents are kept. */
bool hew_os_purge(void *address, size_t size);

/* Drops the contents of several ranges in one call.  False: the system refused, or does not support the call (before
 * Linux 6.14); the contents of some ranges may be lost. */
struct hew_os_range { /* laid out as struct iovec */
    void *address;
    size_t size;
};
bool hew_os_purge_ranges(const struct hew_os_range *ranges, unsigned count);

/* Lets the system drop the contents when it needs memory (MADV_FREE).  False: not supported. */
bool hew_os_purge_lazily(void *address, size_t size);

enum hew_os_moved {
    HEW_OS_MOVED,
    HEW_OS_NOT_MOVED, /* nothing has changed */
    /* The pages are where they were, but the contents of the new range are unknown: never touch it again. */
    HEW_OS_PLACE_LOST,
};

/*
 * Moves the pages of [from, from + size) to [to, to + size), which must be mapped and contain nothing of value.  The
 * old range stays mapped and reads as zeros.
 */
enum hew_os_moved hew_os_move(void *from, void *to, size_t size);

/* Returns false once the system has shown that it cannot move pages. */
bool hew_os_may_move(void);

/* Drops the contents and maps the range again, so that it forms one mapping with its neighbours after a move.  False:
 * the system refused.  If it has no memory for its own tables, the state of the range is unknown; otherwise nothing has
 * changed. */
bool hew_os_map_anew(void *address, size_t size);

/* Extends the data segment (sbrk) by `size` bytes aligned to `alignment`; NULL when refused. */
void *hew_os_extend_data(size_t size, size_t alignment);

/* For fork. */
extern struct hew_mutex hew_os_data_lock;

/* Returns how many bytes of the range are in memory; 0: the system does not report it. */
size_t hew_os_resident(void *address, size_t size);

/* Advise the system on transparent huge pages for a range, and on leaving a range out of core dumps. */
void hew_os_advise_huge(void *address, size_t size);
void hew_os_advise_small(void *address, size_t size);
void hew_os_advise_no_dump(void *address, size_t size);

#endif
