/* SPDX-License-Identifier: MIT */
/* settings: see settings.h. */
#include "settings.h"

#include "kernel.h"
#include "machine.h"
#include "objects.h"
#include "process.h"
#include "tested.h"

#include <stdio.h>
#include <string.h>

struct program_habits program_habits;
static uint64_t dice;

static uint64_t
below(uint64_t bound)
{
    dice += UINT64_C(0x9e3779b97f4a7c15);
    return (machine_mix(dice) >> 11) % bound;
}

#define ONE_OF(...) ((const uint64_t[]){__VA_ARGS__}[below(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))])

/* Each is left out most of the time: its default is what most programs have. */
static const struct {
    const char *name, *values[6];
} choices[] = {
    {"narenas", {"1", "1", "2", "3", "8"}},
    {"percpu_arena", {"percpu", "phycpu"}},
    {"oversize_threshold", {"65536", "1048576"}},
    {"mutex_max_spin", {"0", "0", "1", "600"}},
    {"dirty_decay_ms", {"0", "0", "10", "1000", "-1"}},
    {"muzzy_decay_ms", {"0", "10", "1000", "-1"}},
    {"background_thread", {"false"}},
    {"retain", {"false"}},
    {"dss", {"disabled", "primary"}},
    {"thp", {"always", "never"}},
    {"thp_threshold", {"0", "65536"}},
    {"lg_extent_max_active_fit", {"0", "2", "6"}},
    {"process_madvise_max_batch", {"2", "8", "128"}},
    {"disable_large_size_classes", {"false"}},
    {"calloc_madvise_threshold", {"16384", "262144"}},
    {"slab_sizes", {"8-4096:4", "1-14336:1", "64-64:16"}},
    {"tcache", {"false"}},
    {"tcache_max", {"0", "4096", "65536", "8388608"}},
    {"lg_tcache_nslots_mul", {"-4", "3"}},
    {"tcache_nslots_small_min", {"1"}},
    {"tcache_nslots_small_max", {"2", "8", "2000"}},
    {"tcache_nslots_large", {"1", "3", "100"}},
    {"tcache_ncached_max", {"1-64:3", "128-4096:0", "1-14336:8"}},
    {"lg_tcache_flush_small_div", {"2", "16"}},
    {"lg_tcache_flush_large_div", {"2", "16"}},
    {"cache_room", {"25", "400", "1600"}},
    {"depot_room", {"25", "400", "1600"}},
    {"hardening", {"sample", "sample", "check"}},
    {"guard_rate", {"1", "1000"}},
    {"junk", {"true", "alloc", "free"}},
    {"zero", {"true"}},
    {"san_guard_large", {"1", "5"}},
    {"pools", {"48:100", "100:1000"}},
};

static void
draw_library(const struct run_plan *plan, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (below(6) == 0) {
            unsigned count = 0;
            while (count < 6 && choices[i].values[count] != NULL) {
                count++;
            }
            const char *value = choices[i].values[below(count)];
            used += (size_t)snprintf(text + used, room - used, "%s%s:%s", used == 0 ? "" : ",", choices[i].name, value);
        }
    }
    if (plan->settings != NULL) { /* last, so that they hold */
        snprintf(text + used, room - used, "%s%s", used == 0 ? "" : ",", plan->settings);
    }
    tested_malloc_conf = text;
    program_habits.unmaps = strstr(text, "retain:false") != NULL;
}

static void
draw_machine(const struct run_plan *plan)
{
    machine_habits.accesses_between = (uint32_t)ONE_OF(5, 30, 200, 1000, 5000, 30000);
    machine_habits.starved = below(3) == 0 ? (uint32_t)below(6) : MACHINE_NOBODY;
    machine_habits.ns_between = (uint32_t)ONE_OF(100, 1000, 100000);
    machine_habits.delayed_stores = below(2) == 0 && !plan->ordered_stores;
    if (plan->no_preemption) {
        machine_habits.accesses_between = 1u << 30;
    }
}

static void
draw_kernel(const struct run_plan *plan)
{
    struct kernel_habits *habits = &kernel_habits;
    habits->mappings_most = below(5) == 0 ? (unsigned)ONE_OF(60, 150, 400) : KERNEL_MAPPINGS_MOST;
    habits->bytes_most = below(6) == 0 ? (size_t)ONE_OF(256, 1024, 16384) << 20 : SIZE_MAX;
    habits->knows_ranges = below(2) == 0;
    habits->knows_lazily = below(8) != 0;
    habits->from_below = below(4) == 0;
    habits->anywhere = below(4) == 0;
    habits->loses_place = below(2) == 0;
    habits->processors = (unsigned)ONE_OF(1, 2, 4, 64);
    habits->quota = below(3) == 0 ? 2 : 0;
    program_habits.refuses = below(2) == 0 && !plan->no_refusals;
    for (unsigned call = 0; call < KERNEL_CALLS; call++) {
        uint64_t share = below(3) == 0 ? ONE_OF(65, 650, 6500, 32000) : 0;
        habits->refuses[call] = program_habits.refuses ? (uint16_t)share : 0;
    }
    if (plan->no_refusals) {
        habits->mappings_most = KERNEL_MAPPINGS_MOST;
        habits->bytes_most = SIZE_MAX;
    }
}

static void
draw_program(const struct run_plan *plan)
{
    struct program_habits *habits = &program_habits;
    habits->threads = 1 + (unsigned)below(RUN_THREADS > 6 ? 6 : RUN_THREADS);
    habits->threads = plan->threads != 0 ? plan->threads : habits->threads;
    habits->slots = (unsigned)ONE_OF(16, 64, 200, 1000, 4000);
    habits->size_kind = (unsigned)ONE_OF(0, 1, 1, 2, 2, 2, 3, 3, 4, 5);
    habits->remote = (unsigned)ONE_OF(0, 10, 60, 256);
    habits->controls = (unsigned)ONE_OF(0, 60, 600, 3000);
    habits->controls = plan->control != 0 ? 8000 : habits->controls;
    habits->keeps = (unsigned)ONE_OF(10, 100);
    habits->rests = (unsigned)ONE_OF(0, 20, 500);
    habits->rest_ms = ONE_OF(1, 50, 2000, 20000);
    habits->phases = (unsigned)ONE_OF(1, 2, 5);
    habits->free_only = habits->threads > 1 && habits->remote > 20 && below(4) == 0;
    habits->forks = below(4) == 0;
    habits->pools = below(4) == 0;
}

void
settings_draw(const struct run_plan *plan, char *text, size_t room)
{
    dice = plan->seed * UINT64_C(0xd1342543de82ef95) + 1;
    draw_machine(plan);
    draw_kernel(plan);
    draw_program(plan);
    draw_library(plan, text, room);
    objects_thorough = below(8) == 0; /* the last ones: what a seed means stays */
    size_t page = below(2) == 0 ? KERNEL_PAGE : ONE_OF(16384, 65536);
    kernel_habits.page = plan->page != 0 ? plan->page : page;
    process_set_page(kernel_habits.page);
    kernel_habits.knows_fences = below(2) == 0;
}
