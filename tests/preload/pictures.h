/* SPDX-License-Identifier: MIT */
/*
 * pictures: what a worker that feeds a model does: it decodes, cuts and scales pictures of ever other sizes, keeps the small results, and
 * puts each 64 of them into one buffer.
 */
#ifndef HEW_TESTS_PRELOAD_PICTURES_H
#define HEW_TESTS_PRELOAD_PICTURES_H

#include "under_test.h"

enum { PICTURES = 64, BATCHES = 40, SIDES = 6 };
enum { RESULT = 224 * 224 * 3 * 4, SCALED = 224 * 224 * 3 };

static char *kept_pictures[PICTURES];

static inline char *
filled_buffer(size_t size)
{
    char *bytes = malloc(size);
    memset(bytes, 1, size);
    return bytes;
}

/* A picture decoded, a part of it, that at another scale, and as numbers, which stay. */
static inline void
work_on_picture(unsigned place, uint64_t *random)
{
    static const size_t sides[SIDES] = {320, 400, 640, 800, 1024, 1600};
    size_t side = sides[under_test_random(random) % SIDES], whole = side * side * 3 / 4 * 3;
    size_t part = whole / 100 * (16 + under_test_random(random) % 84);
    char *decoded = filled_buffer(whole), *cut = filled_buffer(part), *scaled = filled_buffer(SCALED);
    char *numbers = filled_buffer(RESULT);
    free(decoded);
    free(cut);
    kept_pictures[place] = filled_buffer(RESULT);
    free(scaled);
    free(numbers);
}

static inline char *
stack_pictures(void)
{
    return filled_buffer((size_t)PICTURES * RESULT);
}

static inline void
drop_pictures(void)
{
    for (unsigned i = 0; i < PICTURES; i++) {
        free(kept_pictures[i]);
    }
}

#endif
