/* SPDX-License-Identifier: MIT */
/* kernel_memory: the system calls for memory; see kernel.h. */
#include "kernel.h"
#include "kernel_mappings.h"
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

#define END (KERNEL_BASE + KERNEL_BYTES)
#define BREAK_BASE                                                                                                     \
    (KERNEL_BASE + KERNEL_BYTES / 4) /* where the data segment would be: what lies below is never given out */
#define BREAK_BYTES ((size_t)64 << 20)
#define LOWEST (BREAK_BASE + BREAK_BYTES)

struct kernel_habits kernel_habits, kernel_habits_drawn;
uint64_t kernel_refusals[KERNEL_CALLS], kernel_refused_memory;
static uintptr_t program_break = BREAK_BASE;

static size_t
rounded(size_t size)
{
    return (size + kernel_habits.page - 1) & ~(kernel_habits.page - 1);
}

static void *
at(uintptr_t address)
{
    return (void *)address;
}

/* The true mapping follows the table. */
static void
make_true(uintptr_t address, size_t size, int protection, bool anew)
{
    bool done = anew ? mmap(at(address), size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                            0) == at(address)
                     : mprotect(at(address), size, protection) == 0;
    if (!done) {
        machine_finding("the true system is out of memory or mappings");
    }
}

void
kernel_boot(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (mmap(at(KERNEL_BASE), KERNEL_BYTES, PROT_NONE, flags, -1, 0) != at(KERNEL_BASE)) {
        perror("simulate: no address space");
        exit(2);
    }
}

bool
kernel_refuses(enum kernel_call call)
{
    if (machine_self == NULL || !machine_chance(kernel_habits.refuses[call])) {
        return false;
    }
    kernel_refusals[call]++;
    kernel_refused_memory +=
        call == KERNEL_MMAP || call == KERNEL_MPROTECT || call == KERNEL_MREMAP || call == KERNEL_BRK;
    return true;
}

static bool
too_many(int growth)
{
    bool refused = growth > 0 && mappings_count + (unsigned)growth > kernel_habits.mappings_most;
    kernel_refused_memory += refused;
    return refused;
}

static bool
is_bad(uintptr_t address, size_t size)
{
    return (address | size) % kernel_habits.page != 0 || size == 0 || address < KERNEL_BASE || size > END - address;
}

/* The lowest free place of that size from `from` on; 0: none. */
static uintptr_t
free_above(uintptr_t from, size_t size)
{
    for (unsigned i = mappings_at(from); i < mappings_count; i++) {
        if (mappings[i].begin > from && mappings[i].begin - from >= size) {
            return from;
        }
        from = mappings[i].end > from ? mappings[i].end : from;
    }
    return END - from >= size ? from : 0;
}

/* The highest free place of that size. */
static uintptr_t
free_below(size_t size)
{
    uintptr_t end = END;
    for (unsigned i = mappings_count; i-- > 0; end = mappings[i].begin) {
        if (end - mappings[i].end >= size) {
            return end - size;
        }
    }
    return end >= LOWEST + size ? end - size : 0;
}

static uintptr_t
find_place(uintptr_t hint, size_t size)
{
    if (hint >= LOWEST && hint % kernel_habits.page == 0 && hint + size <= END &&
        mappings_inside(hint, hint + size) == 0) {
        return hint;
    }
    if (kernel_habits.anywhere) {
        uintptr_t place =
            free_above(LOWEST + machine_below((END - LOWEST) / kernel_habits.page) * kernel_habits.page, size);
        return place != 0 ? place : free_above(LOWEST, size);
    }
    return kernel_habits.from_below ? free_above(LOWEST, size) : free_below(size);
}

long
kernel_mmap(uintptr_t address, size_t size, int protection, int flags)
{
    size = rounded(size);
    if (size == 0 || (flags & MAP_ANONYMOUS) == 0) {
        return -EINVAL;
    }
    if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0) {
        if (is_bad(address, size)) {
            return address >= KERNEL_BASE && address < END ? -EINVAL : -EEXIST; /* others' memory is there */
        }
        if ((flags & MAP_FIXED_NOREPLACE) != 0 && mappings_inside(address, address + size) != 0) {
            return -EEXIST;
        }
    } else if (size > KERNEL_BYTES || (address = find_place(address, size)) == 0) {
        kernel_refused_memory++;
        return -ENOMEM;
    }
    size_t more = size - mappings_inside(address, address + size);
    if (more > kernel_habits.bytes_most || kernel_mapped() > kernel_habits.bytes_most - more) {
        kernel_refused_memory++;
        return -ENOMEM;
    }
    if (kernel_refuses(KERNEL_MMAP) || too_many(mappings_growth(address, address + size, protection))) {
        return -ENOMEM;
    }
    make_true(address, size, protection, true);
    mappings_set(address, address + size, protection);
    return (long)address;
}

long
kernel_munmap(uintptr_t address, size_t size)
{
    size = rounded(size);
    if (is_bad(address, size)) {
        return -EINVAL;
    }
    int growth = mappings_growth(address, address + size, -1);
    if (growth > 0 && (kernel_refuses(KERNEL_MUNMAP) || too_many(growth))) {
        return -ENOMEM;
    }
    make_true(address, size, PROT_NONE, true);
    mappings_set(address, address + size, -1);
    return 0;
}

long
kernel_mprotect(uintptr_t address, size_t size, int protection)
{
    size = rounded(size);
    if (is_bad(address, size)) {
        return -EINVAL;
    }
    if (mappings_inside(address, address + size) != size || kernel_refuses(KERNEL_MPROTECT) ||
        too_many(mappings_growth(address, address + size, protection))) {
        return -ENOMEM;
    }
    make_true(address, size, protection, false);
    mappings_set(address, address + size, protection);
    return 0;
}

/* The system takes some of the pages now, and leaves the others as long as it likes. */
static void
take_some(uintptr_t address, size_t size)
{
    size_t taken = 0; /* of the pages right before, which go in one call */
    for (size_t offset = 0; offset <= size; offset += kernel_habits.page) {
        if (offset < size && machine_below(2) == 0) {
            taken += kernel_habits.page;
        } else if (taken != 0) {
            madvise(at(address + offset - taken), taken, MADV_DONTNEED);
            taken = 0;
        }
    }
}

long
kernel_madvise(uintptr_t address, size_t size, int advice)
{
    if ((address | size) % kernel_habits.page != 0) { /* the end would be rounded up, to what others have */
        machine_finding("madvise(%#lx, %zu, %d) of parts of pages", address, size, advice);
    }
    if (is_bad(address, size)) {
        return size == 0 ? 0 : -EINVAL;
    }
    if (mappings_inside(address, address + size) != size) {
        machine_finding("madvise(%#lx, %zu, %d) of what is not mapped", address, size, advice);
    }
    bool fence = advice == MADV_GUARD_INSTALL || advice == MADV_GUARD_REMOVE;
    if (kernel_refuses(KERNEL_MADVISE) || (advice == MADV_FREE && !kernel_habits.knows_lazily) ||
        (fence && !kernel_habits.knows_fences)) {
        return -EINVAL;
    }
    if (advice == MADV_FREE) {
        take_some(address, size);
    } else if (advice == MADV_DONTNEED || fence) { /* a true system before Linux 6.13 knows none either */
        return madvise(at(address), size, advice) == 0 ? 0 : -errno;
    }
    return 0;
}

/* What is resident of `from` moves to `to`, where nothing is. */
static void
move_pages(uintptr_t from, uintptr_t to, size_t size)
{
    for (size_t offset = 0; offset < size; offset += KERNEL_PAGE) {
        unsigned char there = 0;
        if (mincore(at(from + offset), KERNEL_PAGE, &there) == 0 && (there & 1) != 0) {
            memcpy(at(to + offset), at(from + offset), KERNEL_PAGE);
        }
    }
    madvise(at(from), size, MADV_DONTNEED);
}

long
kernel_mremap(uintptr_t from, size_t size, size_t new_size, int flags, uintptr_t to)
{
    unsigned i = mappings_at(from);
    if (is_bad(from, size) || i == mappings_count || mappings[i].begin > from || mappings[i].end < from + size) {
        return -EFAULT;
    }
    if (flags == 0) { /* larger, where it is */
        uintptr_t end = from + size;
        bool room = new_size > size && end + (new_size - size) <= END && mappings_inside(end, from + new_size) == 0;
        return room && kernel_mmap(end, new_size - size, mappings[i].protection, MAP_ANONYMOUS | MAP_FIXED) > 0
                   ? (long)from
                   : -ENOMEM;
    }
    if (kernel_refuses(KERNEL_MREMAP)) {
        if (kernel_habits.loses_place) {
            make_true(to, size, PROT_NONE, true);
            mappings_set(to, to + size, -1);
        }
        return kernel_habits.loses_place ? -ENOMEM : -EINVAL;
    }
    if (is_bad(to, size) || (from < to + size && to < from + size)) {
        return -EINVAL;
    }
    make_true(to, size, mappings[i].protection, true);
    mappings_set(to, to + size, mappings[i].protection);
    move_pages(from, to, size);
    return (long)to;
}

static size_t
resident_in(uintptr_t address, size_t size)
{
    unsigned char pages[1024];
    size_t resident = 0, part;
    for (uintptr_t begin = address; begin < address + size; begin += part) {
        part = address + size - begin;
        part = part < sizeof pages * KERNEL_PAGE ? part : sizeof pages * KERNEL_PAGE;
        if (mincore(at(begin), part, pages) == 0) {
            for (size_t i = 0; i < part / KERNEL_PAGE; i++) {
                resident += pages[i] & 1 ? KERNEL_PAGE : 0;
            }
        }
    }
    return resident;
}

long
kernel_mincore(uintptr_t address, size_t size, unsigned char *pages)
{
    if (kernel_refuses(KERNEL_MINCORE) || is_bad(address, size) || mappings_inside(address, address + size) != size) {
        return -ENOMEM;
    }
    size_t page = kernel_habits.page;
    for (size_t offset = 0; offset < size; offset += page) {
        pages[offset / page] = resident_in(address + offset, page) != 0;
    }
    return 0;
}

uintptr_t
kernel_brk(uintptr_t to)
{
    uintptr_t before = program_break;
    if (to > before && to <= BREAK_BASE + BREAK_BYTES && !kernel_refuses(KERNEL_BRK) &&
        kernel_mmap(rounded(before), rounded(to - before), PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_FIXED) >= 0) {
        program_break = to;
    }
    return program_break;
}

size_t
kernel_mapped(void)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < mappings_count; i++) {
        bytes += mappings[i].end - mappings[i].begin;
    }
    return bytes;
}

size_t
kernel_writable(void)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < mappings_count; i++) {
        bool counts = mappings[i].protection == (PROT_READ | PROT_WRITE) && mappings[i].begin >= LOWEST;
        bytes += counts ? mappings[i].end - mappings[i].begin : 0;
    }
    return bytes;
}

unsigned
kernel_mappings(void)
{
    return mappings_count;
}

size_t
kernel_resident(void)
{
    size_t resident = 0;
    for (unsigned i = 0; i < mappings_count; i++) {
        resident += mappings[i].protection == (PROT_READ | PROT_WRITE)
                        ? resident_in(mappings[i].begin, mappings[i].end - mappings[i].begin)
                        : 0;
    }
    return resident;
}

void
kernel_say(void)
{
    for (unsigned i = 0; i < mappings_count; i++) {
        size_t size = mappings[i].end - mappings[i].begin;
        bool small = size < KERNEL_BYTES / 64;
        printf("  mapped: %#lx, %zu KiB, protection %d, %zu KiB resident\n", mappings[i].begin, size / 1024,
               mappings[i].protection, small ? resident_in(mappings[i].begin, size) / 1024 : 0);
    }
}
