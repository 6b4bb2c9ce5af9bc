/* SPDX-License-Identifier: MIT */
/*
 * space: a reservation that is opened from one end to the other, by making pages writable.  So inaccessible memory
 * surrounds our metadata from the beginning.
 */
#include "meta/space.h"

#include "base/random.h"
#include "base/size_class.h"
#include "os/memory.h"
#include "os/process.h"

/* Where address space is not limited: leaves of the address map for 512 GiB of objects. */
#define RESERVE ((size_t)1 << 30)
/* Where it is limited: a leaf, what a small program needs besides, and the random distance. */
#define RESERVE_SMALL ((size_t)8 << 20)
#define RESERVE_LEAST ((size_t)4 << 20)
#define RESERVE_SHARE 64 /* of a limited address space */
/* The random distance from a reservation's start is at most this share of it, and at most DISTANCE_MOST. */
#define DISTANCE_SHARE 4 /* of the reservation beyond the needed part */
#define DISTANCE_MOST ((size_t)16 << 20)

/* All guarded by hew_meta_lock.  The closed part of the reservation in use; both are 0 before the first. */
static char *space_closed, *space_end;
static char *space_start; /* the start of a reservation of which nothing is open yet; otherwise NULL */

static bool space_small; /* hew_space_stay_small() has been called */

static struct hew_random space_random;

size_t
hew_space_draw(size_t most)
{
    if (space_random.state == 0) {
        space_random.state = hew_os_random_seed();
    }
    return hew_random_next(&space_random) % (most / hew_system_page + 1) * hew_system_page;
}

/* Begins a reservation in which `needed` bytes will be opened soon. */
static void
begin_space(char *reserved, size_t size, size_t needed)
{
    size_t room = size - needed - 2 * HEW_SPACE_GUARD;
    size_t most = room / DISTANCE_SHARE < DISTANCE_MOST ? room / DISTANCE_SHARE : DISTANCE_MOST;
    space_start = reserved;
    space_end = reserved + size;
    space_closed = reserved + HEW_SPACE_GUARD + hew_space_draw(most);
    hew_os_advise_small(reserved, size); /* otherwise a few bytes of metadata would be 2 MiB */
}

void
hew_space_begin(void *reserved, size_t size)
{
    begin_space(reserved, size, 0);
}

void
hew_space_stay_small(void)
{
    space_small = true;
}

/* Makes a new reservation in which `size` bytes can be opened; the rest of the last one stays closed. */
static bool
reserve_space(size_t size)
{
    size_t limit = hew_os_address_space_limit(), share = limit / RESERVE_SHARE & ~(hew_system_page - 1);
    size_t least = size + 2 * HEW_SPACE_GUARD, most = space_small ? RESERVE_SMALL : RESERVE;
    size_t wanted = share < RESERVE_LEAST ? RESERVE_LEAST : share < most ? share : most;
    for (;;) {
        wanted = wanted < least ? least : wanted;
        void *reserved = hew_os_reserve(wanted);
        if (reserved != NULL) {
            begin_space(reserved, wanted, size);
            return true;
        }
        if (wanted == least) {
            return false;
        }
        wanted = hew_system_pages(wanted / 2);
    }
}

static bool
fits_in_space(size_t size)
{
    return (size_t)(space_end - space_closed) >= size + HEW_SPACE_GUARD;
}

void *
hew_space_open(size_t size)
{
    bool room = space_end != NULL && fits_in_space(size);
    if (!(room || reserve_space(size)) || !hew_os_make_writable(space_closed, size)) {
        return NULL;
    }
    char *opened = space_closed;
    space_closed += size;
    space_start = NULL;
    return opened;
}

void
hew_space_narrow(void)
{
    char *keep = space_start != NULL ? space_start : space_closed + HEW_SPACE_GUARD;
    if (space_end > keep && hew_os_try_unmap(keep, (size_t)(space_end - keep))) {
        space_end = space_start != NULL ? NULL : keep;
    }
}
