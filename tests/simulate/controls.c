/* SPDX-License-Identifier: MIT */
/* controls: the calls that are on no object: arenas, caches, purging, decay, statistics, time; see operations.h. */
#include "kernel.h"
#include "machine.h"
#include "objects.h"
#include "operations.h"
#include "pools.h"
#include "run.h"
#include "settings.h"
#include "tested.h"

#include "alloc/utilization.h"
#include "guard/slots.h"

#include <stdio.h>

#define ARENAS 4
#define CACHES 4
#define ALL 4096

static struct {
    int number; /* 0: none; the program's own arenas come after automatic ones */
    unsigned users;
    bool closing;
} arenas[ARENAS];

static struct {
    int number; /* + 1; 0: none */
    bool busy;
} caches[CACHES];

int
controls_borrow_arena(void)
{
    unsigned i = (unsigned)machine_below(ARENAS);
    if (arenas[i].number == 0 || arenas[i].closing) {
        return -1;
    }
    arenas[i].users++;
    return arenas[i].number;
}

bool
controls_borrow_arena_of(uint32_t arena)
{
    for (unsigned i = 0; arena != 0 && i < ARENAS; i++) {
        if (arenas[i].number + 1 == (int)arena) {
            arenas[i].users += !arenas[i].closing;
            return !arenas[i].closing;
        }
    }
    return true;
}

void
controls_return_arena(uint32_t arena)
{
    for (unsigned i = 0; arena != 0 && i < ARENAS; i++) {
        if (arenas[i].number + 1 == (int)arena) {
            arenas[i].users--;
        }
    }
}

int
controls_borrow_cache(void)
{
    unsigned i = (unsigned)machine_below(CACHES);
    if (caches[i].number == 0 || caches[i].busy) {
        return -1;
    }
    caches[i].busy = true;
    machine_drain_all(); /* its holder has handed it over */
    return caches[i].number - 1;
}

void
controls_return_cache(int number)
{
    for (unsigned i = 0; number >= 0 && i < CACHES; i++) {
        caches[i].busy = caches[i].busy && caches[i].number != number + 1;
    }
}

/* mallctl by a name with one number in it: written, read, or only called. */
static int
control_both(const char *format, int number, void *const values[2], size_t size)
{
    char name[96];
    size_t old_size = size;
    snprintf(name, sizeof name, format, number);
    int result =
        tested_mallctl(name, values[0], values[0] == NULL ? NULL : &old_size, values[1], values[1] == NULL ? 0 : size);
    operations_say("mallctl %s -> %d", name, result);
    return result;
}

static int
control_set(const char *format, int number, void *value, size_t size)
{
    return control_both(format, number, (void *const[]){NULL, value}, size);
}

static int
control_get(const char *format, int number, void *value, size_t size)
{
    return control_both(format, number, (void *const[]){value, NULL}, size);
}

static int
control(const char *format, int number)
{
    return control_both(format, number, (void *const[]){NULL, NULL}, 0);
}

/* The program has let go of all that came from an arena. */
static void
forget_objects_of(int number)
{
    for (unsigned i = 0; i < OBJECTS_MOST; i++) {
        if (objects[i].address != NULL && objects[i].arena == (uint32_t)number + 1) {
            objects_check(&objects[i]);
            objects_leave(&objects[i]);
            objects[i].address = NULL;
        }
    }
}

static void
end_arena(unsigned i, bool destroy)
{
    int number = arenas[i].number;
    arenas[i].closing = true;
    machine_drain_all();
    forget_objects_of(number);
    arenas[i].number = destroy ? 0 : number; /* it may be another one's before the call returns */
    int result = control(destroy ? "arena.%d.destroy" : "arena.%d.reset", number);
    if (result != 0) {
        machine_finding("arena: %s of arena %d is refused: %d", destroy ? "destroy" : "reset", number, result);
    }
    arenas[i].closing = false;
}

static void
change_arenas(void)
{
    unsigned i = (unsigned)machine_below(ARENAS);
    if (arenas[i].number == 0 && !arenas[i].closing) {
        unsigned made = 0;
        arenas[i].closing = true;
        int result = control_get("arenas.create", 0, &made, sizeof made);
        arenas[i].number = result == 0 ? (int)made : 0;
        arenas[i].closing = false;
    } else if (!arenas[i].closing && arenas[i].users == 0) {
        end_arena(i, machine_below(2) == 0);
    }
}

static void
change_caches(void)
{
    unsigned i = (unsigned)machine_below(CACHES), made = 0;
    if (caches[i].busy) {
        return;
    }
    caches[i].busy = true;
    machine_drain_all();
    if (caches[i].number == 0) {
        caches[i].number = control_get("tcache.create", 0, &made, sizeof made) == 0 ? (int)made + 1 : 0;
    } else {
        bool destroy = machine_below(2) == 0;
        unsigned number = (unsigned)caches[i].number - 1;
        caches[i].number = destroy ? 0 : caches[i].number; /* the number may be another one's before the call returns */
        if (control_set(destroy ? "tcache.destroy" : "tcache.flush", 0, &number, sizeof number) != 0) {
            machine_finding("cache: cache %u is not there", number);
        }
    }
    caches[i].busy = false;
}

static void
change_thread(void)
{
    bool on = machine_below(4) != 0;
    unsigned narenas = 1, arena;
    switch (machine_below(4)) {
    case 0:
        control_set("thread.tcache.enabled", 0, &on, sizeof on);
        break;
    case 1:
        control("thread.idle", 0);
        break;
    case 2:
        control_get("opt.narenas", 0, &narenas, sizeof narenas);
        arena = (unsigned)machine_below(narenas);
        control_set("thread.arena", 0, &arena, sizeof arena);
        break;
    default:
        control("thread.tcache.flush", 0);
    }
}

static size_t
number_of(const char *format, int number)
{
    size_t value = 0;
    control_get(format, number, &value, sizeof value);
    return value;
}

/* What holds at any time. */
static void
look_at_statistics(void)
{
    static bool looking; /* the numbers are of one snapshot only until the next one is taken */
    uint64_t epoch = 1;
    if (looking) {
        return;
    }
    looking = true;
    if (control_set("epoch", 0, &epoch, sizeof epoch) == 0) {
        size_t allocated = number_of("stats.allocated", 0), active = number_of("stats.active", 0);
        size_t metadata = number_of("stats.metadata", 0), resident = number_of("stats.resident", 0);
        size_t holes = number_of("stats.arenas.%d.holes", ALL);
        if (allocated > active || active % KERNEL_PAGE != 0 || active + metadata > resident + holes) {
            machine_finding("statistics: allocated %zu, active %zu, metadata %zu, resident %zu, holes %zu", allocated,
                            active, metadata, resident, holes);
        }
    }
    looking = false;
}

static void
change_decay(void)
{
    static const ssize_t times[] = {-1, 0, 0, 10, 1000};
    ssize_t ms = times[machine_below(5)];
    const char *name = machine_below(2) == 0 ? "arena.%d.dirty_decay_ms" : "arena.%d.muzzy_decay_ms";
    control_set(name, 0, &ms, sizeof ms);
}

void
controls_one(void)
{
    bool on = machine_below(2) == 0;
    switch (run_plan->control != 0 ? run_plan->control - 1 : machine_below(12)) {
    case 0:
        control("arena.%d.purge", ALL);
        break;
    case 1:
        control("arena.%d.decay", ALL);
        break;
    case 2:
        tested_malloc_trim(0);
        pools_trim();
        break;
    case 3:
        control_set("background_thread", 0, &on, sizeof on);
        break;
    case 4:
        change_decay();
        break;
    case 5:
    case 6:
        change_arenas();
        break;
    case 7:
    case 8:
        change_caches();
        break;
    case 9:
        look_at_statistics();
        break;
    default:
        change_thread();
    }
}

void
controls_end_all(void)
{
    for (unsigned i = 0; i < ARENAS; i++) {
        if (arenas[i].number != 0) {
            end_arena(i, true);
        }
    }
    for (unsigned i = 0; i < CACHES; i++) {
        unsigned number = (unsigned)caches[i].number - 1;
        if (caches[i].number != 0) {
            control_set("tcache.destroy", 0, &number, sizeof number);
        }
    }
    pools_end();
    control("thread.tcache.flush", 0);
}

/* Switches the purger on or off; whether it was on.  What it has in hand between a depot and a slab is in no count. */
static bool
set_purger(bool on)
{
    bool before = false;
    control_get("background_thread", 0, &before, sizeof before);
    if (before != on) {
        control_set("background_thread", 0, &on, sizeof on);
    }
    return before;
}

/* Bytes that statistics count for the program's objects: none of those that hardening:sample has put between guards, and
 * of small ones the whole region.  With hardening:full an object's usable size is the one that was asked for. */
static size_t
bytes_counted(void)
{
    size_t bytes = objects_bytes;
    for (unsigned i = 0; i < OBJECTS_MOST; i++) {
        const struct object *object = &objects[i];
        if (object->address == NULL || object->pooled) {
            continue;
        }
        if ((uintptr_t)object->address - hew_guard_base < hew_guard_end - hew_guard_base) {
            bytes -= object->usable;
            continue;
        }
        const struct hew_extent *extent = hew_utilization_holder(object->address);
        if (extent != NULL && extent->code <= HEW_CODE_SMALL_LAST) {
            bytes += hew_code_size(extent->code) - object->usable;
        }
    }
    return bytes;
}

/* To the byte. */
static void
compare_statistics(void)
{
    uint64_t epoch = 1;
    if (control_set("epoch", 0, &epoch, sizeof epoch) != 0) {
        return; /* no memory for it */
    }
    size_t allocated = number_of("stats.allocated", 0), cached = number_of("stats.arenas.%d.tcache_bytes", ALL);
    size_t held = bytes_counted();
    size_t pools = program_habits.pools && allocated - cached > held ? allocated - cached - held : 0;
    if (allocated - cached - pools != held) { /* a set's memory counts as a whole */
        machine_finding("statistics: %zu bytes are allocated, %zu of them cached; the program holds %zu", allocated,
                        cached, held);
    }
}

void
quiet_check(void)
{
    bool before = set_purger(false);
    compare_statistics();
    objects_check_all();
    set_purger(before);
}

#define LEAVES ((size_t)16 << 20) /* of the address map: 2 MiB for each GiB in which something lies */
#define SLACK ((size_t)1 << 20)   /* of pages that are touched only in part, and hew's own */

void
quiet_check_empty(void)
{
    uint64_t epoch = 1;
    set_purger(false);
    control("arena.%d.purge", ALL);
    if (control_set("epoch", 0, &epoch, sizeof epoch) != 0) {
        return;
    }
    size_t active = number_of("stats.active", 0), metadata = number_of("stats.metadata", 0),
           resident = kernel_resident();
    unsigned limit = kernel_habits_drawn.mappings_most;
    size_t leaves = kernel_habits.anywhere ? SIZE_MAX / 2 : LEAVES;
    if (program_habits.unmaps && kernel_writable() > active + metadata + leaves) {
        machine_finding("returned: %zu bytes are mapped when nothing is held, %zu active, %zu of its own "
                        "(retain:false, at most %u mappings)",
                        kernel_writable(), active, metadata, limit);
    }
    size_t dirty = number_of("stats.arenas.%d.pdirty", ALL), muzzy = number_of("stats.arenas.%d.pmuzzy", ALL);
    if (dirty + muzzy != 0 && !program_habits.refuses) {
        machine_finding("returned: after a purge %zu dirty and %zu muzzy pages are left", dirty, muzzy);
    }
    if (resident > active + metadata + SLACK && !program_habits.refuses &&
        !kernel_habits.anywhere) { /* far apart, each has a leaf of the address map */
        machine_finding("returned: %zu bytes are resident when nothing is held, %zu active, %zu of its own", resident,
                        active, metadata);
    }
}
