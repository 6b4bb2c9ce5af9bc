/* SPDX-License-Identifier: MIT */
#include "meta/map.h"

#include "os/memory.h"
#include "os/mutex.h"

#include <string.h>

#define CODE_MAP_BYTES ((size_t)1 << (HEW_LG_ADDRESS - HEW_LG_GRAIN))
/* Code-map bytes made writable at a time: 64 KiB cover 1 GiB of addresses, as one leaf does.  Small enough that huge
 * pages never apply. */
#define WINDOW_BYTES ((size_t)1 << (HEW_LG_LEAF - HEW_LG_GRAIN))
#define LEAF_BYTES (HEW_LEAF_PAGES * sizeof(hew_map_entry))
#define ROOTS (sizeof hew_map_roots / sizeof hew_map_roots[0])
#define SPARE_ROOTS 16 /* more than the hole that the map itself leaves when it is narrowed */

static uint8_t nothing_yet; /* free(NULL) before the first allocation reads this */
uint8_t *hew_code_map = &nothing_yet;
_Atomic(hew_map_entry *) hew_map_roots[(size_t)1 << (HEW_LG_ADDRESS - HEW_LG_LEAF)];

struct hew_mutex hew_map_lock = HEW_MUTEX(map); /* guards opening windows and adding leaves */
static bool piecewise;                          /* fixed after boot */
static size_t windows;                          /* opened so far, under hew_map_lock */
static size_t kept_roots; /* after hew_map_narrow(), under hew_map_lock: how far around what is held; 0 before */

/*
 * Without 8 GiB of address space: the map's place is a range that the kernel, which hands out addresses from the top
 * of the 47 bits and from just above the program, does not reach within a limited address space.
 * The pages for addresses that programs hold anyway (program, libraries, stack) are opened at boot, so that free() of
 * a foreign pointer there reads a 0; any wilder pointer faults in free() itself.
 */
static bool
boot_piecewise(void)
{
    static const uintptr_t places[] = {(uintptr_t)0x200000000000, (uintptr_t)0x300000000000, (uintptr_t)0x100000000000,
                                       (uintptr_t)0x080000000000};
    piecewise = true;
    const uintptr_t held[] = {(uintptr_t)__builtin_frame_address(0), (uintptr_t)&hew_map_roots,
                              hew_os_program_address()};
    for (size_t place = 0; place < sizeof places / sizeof places[0]; place++) {
        hew_code_map = (uint8_t *)places[place];
        if (hew_os_map_at(hew_code_map, HEW_PAGE)) {
            return hew_map_cover(held[0], 1) && hew_map_cover(held[1], 1) && hew_map_cover(held[2], 1);
        }
    }
    return false;
}

bool
hew_map_boot(void)
{
    hew_code_map = hew_os_address_space_limit() / 8 < CODE_MAP_BYTES ? NULL : hew_os_reserve_readable(CODE_MAP_BYTES);
    if (hew_code_map == NULL) {
        return boot_piecewise();
    }
    hew_os_advise_no_dump(hew_code_map, CODE_MAP_BYTES);
    return true;
}

/* Under hew_map_lock: whether a narrowed map still has the window.  It has those for every address that the kernel may
 * hand out within the limit: NULL, and what lies around the program, the libraries, the stack and the map. */
static bool
keeps(size_t root)
{
    const uintptr_t held[] = {0, hew_os_program_address(), (uintptr_t)&hew_map_roots, hew_os_stack_address(),
                              (uintptr_t)hew_code_map};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        size_t middle = held[i] >> HEW_LG_LEAF, reach = i == 0 ? 0 : kept_roots;
        if (root + reach >= middle && root <= middle + reach) {
            return true;
        }
    }
    return false;
}

bool
hew_map_narrow(void)
{
    size_t limit = hew_os_address_space_limit();
    hew_mutex_lock(&hew_map_lock);
    bool narrow = !piecewise && kept_roots == 0 && limit / 8 < CODE_MAP_BYTES;
    if (narrow) {
        kept_roots = (limit >> HEW_LG_LEAF) + SPARE_ROOTS;
        size_t first = 0; /* of a run that goes */
        for (size_t root = 0; root <= ROOTS; root++) {
            if (root < ROOTS && hew_map_roots[root] == NULL && !keeps(root)) {
                continue;
            }
            if (root > first) {
                hew_os_unmap(hew_code_map + first * WINDOW_BYTES, (root - first) * WINDOW_BYTES);
            }
            first = root + 1;
        }
    }
    hew_mutex_unlock(&hew_map_lock);
    return narrow;
}

/* Under hew_map_lock. */
static bool
open_window(size_t root)
{
    if (atomic_load_explicit(&hew_map_roots[root], memory_order_relaxed) != NULL) {
        return true;
    }
    uint8_t *window = hew_code_map + root * WINDOW_BYTES;
    if (piecewise && root == 0) { /* its first page is mapped already */
        window += HEW_PAGE;
    }
    size_t bytes = WINDOW_BYTES - (size_t)(window - (hew_code_map + root * WINDOW_BYTES));
    hew_map_entry *leaf = hew_os_map(LEAF_BYTES, HEW_PAGE);
    if (leaf == NULL) {
        return false;
    }
    hew_os_advise_small(leaf, LEAF_BYTES);
    bool absent = piecewise || (kept_roots != 0 && !keeps(root));
    if (!(absent ? hew_os_map_at(window, bytes) : hew_os_make_writable(window, bytes))) {
        hew_os_unmap(leaf, LEAF_BYTES);
        return false;
    }
    HEW_ASSERT(1, (uintptr_t)leaf % HEW_PAGE == 0 &&
                      atomic_load_explicit(&hew_map_roots[root], memory_order_relaxed) == NULL);
    /* release: pairs with the acquire in hew_map_extent */
    atomic_store_explicit(&hew_map_roots[root], leaf, memory_order_release);
    windows++;
    return true;
}

size_t
hew_map_bytes(size_t mapped)
{
    hew_mutex_lock(&hew_map_lock);
    size_t first_pages = 2 * HEW_PAGE * windows;
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
        if (atomic_load_explicit(&hew_map_roots[root], memory_order_acquire) == NULL) {
            hew_mutex_lock(&hew_map_lock);
            covered = open_window(root);
            hew_mutex_unlock(&hew_map_lock);
        }
    }
    return covered;
}
