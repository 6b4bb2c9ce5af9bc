/* SPDX-License-Identifier: MIT */
/*
 * fit: idle memory serves requests of other sizes than it was freed with.
 *
 * A worker decodes, cuts and scales pictures of ever other sizes, keeps the small results, and puts each 64 of them into one
 * buffer.  At that moment it wants most: what is still idle then was unfit for all that it asked for.
 */
#include "under_test.h"
#include "users/jemalloc_calls.h"

enum { PICTURES = 64, BATCHES = 40, SIDES = 6, UNFIT_PART = 4, PAGE = 4096 };
enum { RESULT = 224 * 224 * 3 * 4, SCALED = 224 * 224 * 3 };

static const size_t sides[SIDES] = {320, 400, 640, 800, 1024, 1600};

static size_t
figure(const char *name)
{
    size_t value = 0, length = sizeof value;
    return mallctl(name, &value, &length, NULL, 0) == 0 ? value : 0;
}

static char *
buffer(size_t size)
{
    char *bytes = malloc(size);
    memset(bytes, 1, size);
    return bytes;
}

/* A picture decoded, a part of it, that at another scale, and as numbers, which stay. */
static char *
work_on_picture(uint64_t *random)
{
    size_t side = sides[under_test_random(random) % SIDES], whole = side * side * 3 / 4 * 3;
    size_t part = whole / 100 * (16 + under_test_random(random) % 84);
    char *decoded = buffer(whole), *cut = buffer(part), *scaled = buffer(SCALED), *numbers = buffer(RESULT);
    free(decoded);
    free(cut);
    char *kept = buffer(RESULT);
    free(scaled);
    free(numbers);
    return kept;
}

int
main(void)
{
    static char *kept[PICTURES];
    uint64_t random = 7, epoch = 1;
    size_t active = 0, idle = 0, worst_idle = 0;
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        for (unsigned i = 0; i < PICTURES; i++) {
            kept[i] = work_on_picture(&random);
        }
        char *together = buffer((size_t)PICTURES * RESULT);
        mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
        active = figure("stats.active");
        idle = figure("stats.arenas.4096.pdirty") * PAGE;
        worst_idle = idle > worst_idle ? idle : worst_idle;
        free(together);
        for (unsigned i = 0; i < PICTURES; i++) {
            free(kept[i]);
        }
    }
    printf("at the most that is wanted: active %zu KiB, idle at worst %zu KiB\n", active / 1024, worst_idle / 1024);
    return active != 0 && worst_idle <= active / UNFIT_PART ? 0 : 1;
}
