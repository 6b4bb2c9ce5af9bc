/* SPDX-License-Identifier: MIT */
/*
 * fit: idle memory serves requests of other sizes than it was freed with.
 *
 * A worker wants most when it puts its results into one buffer: what is still idle then was unfit for all that it asked for.
 */
#include "pictures.h"
#include "users/jemalloc_calls.h"

enum { UNFIT_PART = 4, PAGE = 4096 };

static size_t
figure(const char *name)
{
    size_t value = 0, length = sizeof value;
    return mallctl(name, &value, &length, NULL, 0) == 0 ? value : 0;
}

int
main(void)
{
    uint64_t random = 7, epoch = 1;
    size_t active = 0, idle = 0, worst_idle = 0;
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        for (unsigned i = 0; i < PICTURES; i++) {
            work_on_picture(i, &random);
        }
        char *together = stack_pictures();
        mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
        active = figure("stats.active");
        idle = figure("stats.arenas.4096.pdirty") * PAGE;
        worst_idle = idle > worst_idle ? idle : worst_idle;
        free(together);
        drop_pictures();
    }
    printf("at the most that is wanted: active %zu KiB, idle at worst %zu KiB\n", active / 1024, worst_idle / 1024);
    return active != 0 && worst_idle <= active / UNFIT_PART ? 0 : 1;
}
