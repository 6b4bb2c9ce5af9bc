/* SPDX-License-Identifier: MIT */
#include "os/memory.h"

#include "base/bits.h"
#include "base/size_class.h"
#include "os/mutex.h"
#include "os/syscall.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef PIDFD_SELF_THREAD
#define PIDFD_SELF_THREAD (-10000)
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif
#ifndef MADV_FREE
#define MADV_FREE 8
#endif

struct hew_os_faults hew_os_faults;

/* NULL: the system refused. */
static void *
os_map(void *address, size_t size, int protection, int flags)
{
    if (hew_os_is_refused("mmap")) {
        return NULL;
    }
    long result = hew_syscall6(SYS_mmap, (long)address, (long)size, protection,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return (unsigned long)result > -4096UL ? NULL : (void *)result;
}

static bool
advise(void *address, size_t size, int advice)
{
    return !hew_os_is_refused("madvise") && hew_syscall3(SYS_madvise, address, size, advice) == 0;
}

/* A list of the ranges that the system did not take back, stored in the first bytes of each range.  A push is a
 * release, a pop of the whole list an acquire.  The thread that has popped them owns them alone. */
struct kept {
    struct kept *next;
    size_t size;
};
static _Atomic(struct kept *) kept_ranges;

static void
os_keep(char *address, size_t size)
{
    struct kept *range = (struct kept *)address;
    range->size = size;
    range->next = atomic_load_explicit(&kept_ranges, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&kept_ranges, &range->next, range, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

static void
keep_unless_empty(char *address, size_t size)
{
    if (size != 0) {
        os_keep(address, size);
    }
}

static struct kept *
pop_kept(void)
{
    return atomic_exchange_explicit(&kept_ranges, NULL, memory_order_acquire);
}

static void
keep_all(struct kept *range)
{
    for (struct kept *next; range != NULL; range = next) {
        next = range->next;
        os_keep((char *)range, range->size);
    }
}

/* Cuts `size` bytes, which read as zeros, from a kept range and keeps the rest.  NULL: the range is too small. */
static char *
os_take_from(struct kept *range, size_t size, size_t alignment)
{
    char *start = (char *)range, *end = start + range->size;
    char *aligned = (char *)hew_bits_round_up((uintptr_t)start, alignment);
    if (aligned > end || (size_t)(end - aligned) < size) {
        return NULL;
    }
    keep_unless_empty(aligned + size, (size_t)(end - aligned - size));
    keep_unless_empty(start, (size_t)(aligned - start));
    if (!hew_os_purge(aligned, size)) { /* the program has locked its memory */
        memset(aligned, 0, size);
    }
    return aligned;
}

HEW_COLD static void *
map_kept(size_t size, size_t alignment)
{
    char *taken = NULL;
    for (struct kept *range = pop_kept(), *next; range != NULL; range = next) {
        next = range->next;
        if (taken == NULL && (taken = os_take_from(range, size, alignment)) != NULL) {
            continue;
        }
        os_keep((char *)range, range->size);
    }
    return taken;
}

/* Call after the system has taken a range back: it may now accept more. */
HEW_COLD static void
offer_kept(void)
{
    struct kept *range = pop_kept(), *next;
    while (range != NULL && (next = range->next, hew_os_try_unmap(range, range->size))) {
        range = next;
    }
    keep_all(range);
}

void *
hew_os_map(size_t size, size_t alignment)
{
    if (HEW_UNLIKELY(atomic_load_explicit(&kept_ranges, memory_order_relaxed) != NULL)) {
        void *again = map_kept(size, alignment);
        if (again != NULL) {
            return again;
        }
    }
    if (alignment <= hew_system_page) {
        return os_map(NULL, size, PROT_READ | PROT_WRITE, 0);
    }
    size_t wide = size + alignment - hew_system_page;
    if (wide < size) {
        return NULL;
    }
    char *start = os_map(NULL, wide, PROT_READ | PROT_WRITE, 0);
    if (start == NULL) {
        return NULL;
    }
    char *aligned = (char *)hew_bits_round_up((uintptr_t)start, alignment);
    if (aligned != start) {
        hew_os_unmap(start, (size_t)(aligned - start));
    }
    if (aligned + size != start + wide) {
        hew_os_unmap(aligned + size, (size_t)(start + wide - aligned - size));
    }
    return aligned;
}

void *
hew_os_reserve(size_t size)
{
    return os_map(NULL, size, PROT_NONE, 0);
}

static bool
protect(void *address, size_t size, int protection)
{
    return !hew_os_is_refused("mprotect") && hew_syscall3(SYS_mprotect, address, size, protection) == 0;
}

bool
hew_os_make_readable(void *address, size_t size)
{
    return protect(address, size, PROT_READ);
}

bool
hew_os_make_writable(void *address, size_t size)
{
    return protect(address, size, PROT_READ | PROT_WRITE);
}

bool
hew_os_guard(void *address, size_t size)
{
    return protect(address, size, PROT_NONE);
}

bool
hew_os_fence(void *address, size_t size)
{
    return advise(address, size, MADV_GUARD_INSTALL);
}

bool
hew_os_unfence(void *address, size_t size)
{
    return advise(address, size, MADV_GUARD_REMOVE);
}

bool
hew_os_map_at(void *address, size_t size)
{
    void *got = os_map(address, size, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE);
    if (got != NULL && got != address) { /* a kernel before 4.17 takes the address as a hint */
        hew_os_unmap(got, size);
        return false;
    }
    return got != NULL;
}

bool
hew_os_try_unmap(void *address, size_t size)
{
    return !hew_os_is_refused("munmap") && hew_syscall2(SYS_munmap, address, size) == 0;
}

void
hew_os_unmap(void *address, size_t size)
{
    if (!hew_os_try_unmap(address, size)) {
        hew_os_purge(address, size);
        os_keep(address, size);
    } else if (HEW_UNLIKELY(atomic_load_explicit(&kept_ranges, memory_order_relaxed) != NULL)) {
        offer_kept();
    }
}

bool
hew_os_purge(void *address, size_t size)
{
    return advise(address, size, MADV_DONTNEED);
}

bool
hew_os_purge_ranges(const struct hew_os_range *ranges, unsigned count)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        bytes += ranges[i].size;
    }
    return !hew_os_is_refused("process_madvise") &&
           hew_syscall5(SYS_process_madvise, PIDFD_SELF_THREAD, ranges, count, MADV_DONTNEED, 0) == (long)bytes;
}

bool
hew_os_purge_lazily(void *address, size_t size)
{
    return advise(address, size, MADV_FREE);
}

/* Returns true if the range is one mapping to the kernel.  Then growing it by a page either succeeds or fails for lack
 * of memory. */
static bool
is_one_mapping(char *start, size_t size)
{
    long result = hew_syscall4(SYS_mremap, start, size, size + hew_system_page, 0);
    if (result == (long)start) {
        hew_os_unmap(start + size, hew_system_page);
    }
    return result == (long)start || result == -ENOMEM;
}

static _Atomic bool never_move; /* relaxed: once a move has failed half-way, hew does not try another */

bool
hew_os_may_move(void)
{
    return !atomic_load_explicit(&never_move, memory_order_relaxed);
}

bool
hew_os_map_anew(void *address, size_t size)
{
    return os_map(address, size, PROT_READ | PROT_WRITE, MAP_FIXED) == address;
}

enum hew_os_moved
hew_os_move(void *from, void *to, size_t size)
{
    if (hew_os_is_refused("mremap") || !hew_os_may_move() || !is_one_mapping(from, size)) {
        return HEW_OS_NOT_MOVED;
    }
    /* MREMAP_DONTUNMAP (Linux 5.7): without it the old range would be a hole for a moment, and hew would destroy what
     * another thread maps there.  Kernels before 6.17 unmap the new range before they check for errors. */
    long result = hew_syscall5(SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
    if (result == (long)to) {
        /* The old range is hew's and empty.  Mapping it again merges it with its neighbours in the kernel.  It also
         * informs qemu's user mode, which does not know that the range still exists. */
        hew_os_map_anew(from, size);
        return HEW_OS_MOVED;
    }
    atomic_store_explicit(&never_move, true, memory_order_relaxed);
    return result == -EINVAL || result == -EPERM || result == -ENOSYS ? HEW_OS_NOT_MOVED : HEW_OS_PLACE_LOST;
}

/* The break that glibc's sbrk() remembers, without a lock; NULL before the first call.  musl does not have it, and its
 * sbrk() refuses. */
extern HEW_WEAK char *__curbrk;

/* Does what sbrk() does, without calling it: a preloaded library may replace sbrk() and allocate under our locks. */
static char *
extend_data_held(size_t size, size_t alignment)
{
    if (&__curbrk == NULL) {
        return NULL;
    }
    char *end = __curbrk != NULL ? __curbrk : (char *)hew_syscall1(SYS_brk, 0);
    char *start = (char *)hew_bits_round_up((uintptr_t)end, alignment);
    if (start < end || size > (size_t)INTPTR_MAX || start + size < start ||
        (char *)hew_syscall1(SYS_brk, start + size) != start + size) {
        return NULL;
    }
    __curbrk = start + size;
    return start;
}

/* The last of all ranks.  Arenas have their own locks, but the process has only one break. */
struct hew_mutex hew_os_data_lock = HEW_MUTEX(data_segment);

void *
hew_os_extend_data(size_t size, size_t alignment)
{
    if (hew_os_is_refused("brk")) {
        return NULL;
    }
    hew_mutex_lock(&hew_os_data_lock);
    char *start = extend_data_held(size, alignment);
    hew_mutex_unlock(&hew_os_data_lock);
    return start;
}

size_t
hew_os_resident(void *address, size_t size)
{
    unsigned char pages[1024];
    size_t resident = 0, part;
    for (char *at = address; size != 0; at += part, size -= part) {
        part = size < sizeof pages * hew_system_page ? size : sizeof pages * hew_system_page;
        if (hew_os_is_refused("mincore") || hew_syscall3(SYS_mincore, at, part, pages) != 0) {
            return 0;
        }
        for (size_t page = 0; page < part / hew_system_page; page++) {
            resident += (pages[page] & 1u) * hew_system_page;
        }
    }
    return resident;
}

void
hew_os_advise_huge(void *address, size_t size)
{
    advise(address, size, MADV_HUGEPAGE);
}

void
hew_os_advise_small(void *address, size_t size)
{
    advise(address, size, MADV_NOHUGEPAGE);
}

void
hew_os_advise_no_dump(void *address, size_t size)
{
    advise(address, size, MADV_DONTDUMP);
}
