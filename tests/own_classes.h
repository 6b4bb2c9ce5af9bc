/* SPDX-License-Identifier: MIT */
/*
 * own_classes: random small classes of a program's own, as the setting `classes` lets them be.
 */
#ifndef HEW_TESTS_OWN_CLASSES_H
#define HEW_TESTS_OWN_CLASSES_H

#include "base/size_class.h"
#include "layers_random.h"

/* Whether `left` more classes after one of `size` bytes reach the last size by doubling. */
static inline bool
own_classes_reach(size_t size, unsigned left)
{
    return size << (left < 16 ? left : 16) >= HEW_SMALL_MAX;
}

/* A valid table into sizes[HEW_CODE_SMALL_LAST]; how many.  Of three kinds: close at first, far apart, and any. */
static inline unsigned
own_classes_random(struct layers_random *dice, uint16_t *sizes)
{
    unsigned count = 0, kind = (unsigned)layers_random_below(dice, 3);
    size_t size = layers_random_once_in(dice, 2) ? 8 : 16;
    for (sizes[count++] = (uint16_t)size; size < HEW_SMALL_MAX; sizes[count++] = (uint16_t)size) {
        size_t most = 2 * size > HEW_SMALL_MAX ? HEW_SMALL_MAX : 2 * size;
        size_t steps = (most - size + HEW_QUANTUM - 1) / HEW_QUANTUM;
        size_t close = steps < 3 ? steps : 3, next = kind == 0 ? close : kind == 1 ? steps - steps / 3 : steps;
        size_t tried = (size / HEW_QUANTUM + 1 + layers_random_below(dice, next == 0 ? 1 : next)) * HEW_QUANTUM;
        tried = tried > most ? most : tried;
        size = own_classes_reach(tried, HEW_CODE_SMALL_LAST - count - 1) ? tried : most;
    }
    return count;
}

#endif
