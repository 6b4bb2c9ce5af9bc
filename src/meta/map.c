/* SPDX-License-Identifier: MIT */
/*
 * map: opens the maps as addresses come into use.  Until then the code map is address space that reads as zeros, so
 * free() needs no test before its load.  The extent map has no leaf at first: a small program pays for a few pages.
 */
#include "meta/map.h"

#include "meta/memory.h"
#include "meta/space.h"
#include "os/memory.h"
#include "os/mutex.h"
#include "os/process.h"

#include <string.h>

#define CODE_MAP_BYTES ((size_t)1 << (HEW_LG_ADDRESS - HEW_LG_GRAIN))
/* Code-map bytes made writable at a time: 64 KiB cover 1 GiB of addresses, as one leaf does.  Too small for huge pages
 * ever to apply. */
#define WINDOW_BYTES ((size_t)1 << (HEW_LG_LEAF - HEW_LG_GRAIN))
#define LEAF_BYTES (HEW_LEAF_PAGES * sizeof(hew_map_entry))
#define ROOTS (sizeof hew_map_roots / sizeof hew_map_roots[0])
#define SPARE_ROOTS 16 /* around held addresses: more than the hole that the map itself leaves when it is narrowed */
#define LEAD ((size_t)4 << 20)  /* the largest random distance of the code map from the mapping below it */
#define SPACE ((size_t)1 << 30) /* for metadata, behind the code map: see space.c */
#define HELD 5

static uint8_t nothing_yet; /* free(NULL) before the first allocation reads this */
uint8_t *hew_code_map = &nothing_yet;
_Atomic(hew_map_entry *) hew_map_roots[(size_t)1 << (HEW_LG_ADDRESS - HEW_LG_LEAF)];

struct hew_mutex hew_map_lock = HEW_MUTEX(map); /* guards opening windows and adding leaves */
/* Fixed after boot: whether the map is opened piece by piece, and which windows have been open without a leaf since
 * boot. */
static bool piecewise;
static size_t shown[HELD];
/* Guarded by hew_map_lock. */
static size_t windows;            /* opened so far */
static bool narrowed;             /* hew_map_narrow() has run */
static uint64_t gone[ROOTS / 64]; /* a bit for each window whose address space it has unmapped */
static hew_map_entry *spare_leaf; /* of a window that could not be opened */

/* Addresses near which all memory of a program lies: NULL, the program, its libraries (with hew), its first stack, and
 * the map. */
static void
find_held(uintptr_t held[HELD])
{
    held[0] = 0;
    held[1] = hew_os_program_address();
    held[2] = (uintptr_t)&hew_map_roots;
    held[3] = hew_os_stack_address();
    held[4] = (uintptr_t)hew_code_map;
}

static uint8_t *
window_of(size_t root)
{
    return hew_code_map + root * WINDOW_BYTES;
}

static bool
is_shown(size_t root)
{
    bool found = false;
    for (unsigned i = 0; i < HELD; i++) {
        found = found || shown[i] == root;
    }
    return found && root != 0;
}

/*
 * For processes in which 8 GiB of address space cannot or should not be reserved.  The map lies in a range that the
 * kernel does not reach within a limited address space: it allocates addresses from the top of the 47 bits and from
 * just above the program.  The windows that programs always hold (program, libraries, stack) are opened at boot, so
 * that free() of a foreign pointer there reads a 0.  Any wilder pointer faults in free() itself.
 */
static bool
boot_piecewise(void)
{
    static const uintptr_t places[] = {(uintptr_t)0x200000000000, (uintptr_t)0x300000000000, (uintptr_t)0x100000000000,
                                       (uintptr_t)0x080000000000};
    uintptr_t held[HELD];
    size_t place = 0;
    do {
        if (place == sizeof places / sizeof places[0]) {
            return false;
        }
        hew_code_map = (uint8_t *)places[place++];
    } while (
        !hew_os_map_at(hew_code_map, hew_system_page)); /* read for NULL and the zero page; root 0 opens the rest */
    piecewise = true;
    hew_space_stay_small();
    find_held(held);
    bool all = true;
    for (unsigned i = 1; i < HELD - 1; i++) {
        size_t root = held[i] >> HEW_LG_LEAF;
        if (root != 0 && !is_shown(root)) {
            all = all && hew_os_map_at(window_of(root), WINDOW_BYTES);
            shown[i] = root;
        }
    }
    return all;
}

/* Maps the code map and the first metadata in one mapping, with inaccessible memory before, between and after them. */
static bool
boot_whole(void)
{
    size_t lead = HEW_SPACE_GUARD + hew_space_draw(LEAD), size = lead + CODE_MAP_BYTES + SPACE;
    char *reserved = hew_os_reserve(size);
    if (reserved == NULL) {
        return false;
    }
    if (!hew_os_make_readable(reserved + lead, CODE_MAP_BYTES)) {
        hew_os_try_unmap(reserved,
                         size); /* boot makes few calls: if this one is refused as well, the range is of no use */
        return false;
    }
    hew_code_map = (uint8_t *)reserved + lead;
    hew_os_advise_no_dump(hew_code_map, CODE_MAP_BYTES);
    hew_space_begin(hew_code_map + CODE_MAP_BYTES, SPACE);
    return true;
}

bool
hew_map_boot(bool reserve)
{
    bool room = reserve && hew_os_address_space_limit() / 8 >= CODE_MAP_BYTES;
    hew_mutex_lock(&hew_map_lock); /* another thread may call hew_map_close() */
    bool booted = (room && boot_whole()) || boot_piecewise();
    hew_mutex_unlock(&hew_map_lock);
    return booted;
}

static bool
is_open(size_t root)
{
    return root < ROOTS && atomic_load_explicit(&hew_map_roots[root], memory_order_relaxed) != NULL;
}

/* Returns whether a map that keeps `reach` roots around held addresses still needs the window.  It needs those for
 * every address that the kernel may allocate within a limit, and a guard at both ends of what is open. */
static bool
is_wanted(size_t root, size_t reach, const uintptr_t held[HELD])
{
    bool wanted = is_open(root) || is_open(root + 1) || is_open(root - 1);
    for (unsigned i = 0; i < HELD; i++) {
        size_t middle = held[i] >> HEW_LG_LEAF, around = i == 0 ? 0 : reach;
        wanted = wanted || (root + around >= middle && root <= middle + around);
    }
    return wanted;
}

/* hew_map_lock held.  Gives up the parts of the whole form that nothing within reach needs, one run of windows at a
 * time. */
static void
give_up_runs(size_t reach, void (*give_up)(size_t first, size_t count))
{
    uintptr_t held[HELD];
    size_t first = 0; /* of the run to give up */
    find_held(held);
    for (size_t root = 0; root <= ROOTS; root++) {
        if (root < ROOTS && !is_wanted(root, reach, held)) {
            continue;
        }
        if (root > first) {
            give_up(first, root - first);
        }
        first = root + 1;
    }
}

/* Windows that the system does not unmap stay as they are. */
static void
unmap_windows(size_t first, size_t count)
{
    if (hew_os_try_unmap(window_of(first), count * WINDOW_BYTES)) {
        for (size_t root = first; root < first + count; root++) {
            gone[root / 64] |= (uint64_t)1 << root % 64;
        }
    }
}

bool
hew_map_narrow(size_t limit)
{
    hew_mutex_lock(&hew_map_lock);
    bool narrow = !piecewise && !narrowed && limit / 8 < CODE_MAP_BYTES && hew_code_map != &nothing_yet;
    if (narrow) {
        give_up_runs((limit >> HEW_LG_LEAF) + SPARE_ROOTS, unmap_windows);
        narrowed = true;
        hew_meta_narrow();
    }
    hew_mutex_unlock(&hew_map_lock);
    return narrow;
}

/* If the system refuses, that only costs the program time. */
static void
guard_windows(size_t first, size_t count)
{
    hew_os_guard(window_of(first), count * WINDOW_BYTES);
}

void
hew_map_close(void)
{
    hew_mutex_lock(&hew_map_lock);
    if (!piecewise && !narrowed && hew_code_map != &nothing_yet) {
        give_up_runs(SPARE_ROOTS, guard_windows);
    }
    hew_mutex_unlock(&hew_map_lock);
}

/* hew_map_lock held.  Returns whether the code map has no address space there. */
static bool
is_absent(size_t root)
{
    return piecewise || (narrowed && (gone[root / 64] >> root % 64 & 1) != 0);
}

/* hew_map_lock held.  Makes that part of the code map writable. */
static bool
open_codes(size_t root)
{
    if (is_shown(root)) {
        return true;
    }
    if (!is_absent(root)) {
        return hew_os_make_writable(window_of(root), WINDOW_BYTES);
    }
    size_t there = piecewise && root == 0 ? hew_system_page : 0; /* mapped since boot */
    return there == WINDOW_BYTES || hew_os_map_at(window_of(root) + there, WINDOW_BYTES - there);
}

/* hew_map_lock held. */
static bool
open_window(size_t root)
{
    if (is_open(root)) {
        return true;
    }
    hew_map_entry *leaf = spare_leaf != NULL ? spare_leaf : hew_meta_take_pages(LEAF_BYTES);
    bool open = leaf != NULL && open_codes(root);
    spare_leaf = open ? NULL : leaf;
    if (open) {
        HEW_ASSERT(1, (uintptr_t)leaf % HEW_PAGE == 0);
        /* release: pairs with the acquire in hew_map_extent */
        atomic_store_explicit(&hew_map_roots[root], leaf, memory_order_release);
        windows++;
    }
    return open;
}

size_t
hew_map_bytes(size_t mapped)
{
    hew_mutex_lock(&hew_map_lock);
    size_t first_pages = 2 * hew_system_page * windows;
    hew_mutex_unlock(&hew_map_lock);
    return first_pages + mapped / HEW_PAGE * sizeof(hew_map_entry) + mapped / HEW_GRAIN;
}

bool
hew_map_cover(uintptr_t address, size_t size)
{
    bool covered = true;
    if ((address + size - 1) >> HEW_LG_ADDRESS != 0) {
        return false;
    }
    for (size_t root = address >> HEW_LG_LEAF; covered && root <= (address + size - 1) >> HEW_LG_LEAF; root++) {
        hew_map_entry *leaf = NULL; /* compare with a write: a page that is read before it is written faults twice */
        if (atomic_compare_exchange_strong(&hew_map_roots[root], &leaf, NULL)) {
            hew_mutex_lock(&hew_map_lock);
            covered = open_window(root);
            hew_mutex_unlock(&hew_map_lock);
        }
    }
    return covered;
}
