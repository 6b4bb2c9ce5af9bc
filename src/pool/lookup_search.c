/* SPDX-License-Identifier: MIT */
/*
 * lookup_search: three searches that need only the table.  In each the answer is in [low, high].
 */
#include "base/compiler.h"
#include "hew/pool_lookup.h"

/* Branch-free on the data: a size is equally likely on either side of the midpoint. */
HEW_EXPORT unsigned
hew_pool_lookup_by_midpoint(const size_t *sizes, unsigned count, size_t size)
{
    const size_t *low = sizes;
    for (unsigned left = count; left > 1;) {
        unsigned half = left / 2;
        low += half & -(unsigned)(low[half - 1] < size);
        left -= half;
    }
    return (unsigned)(low - sizes) + (*low < size);
}

/* The size's position between the two if all steps were equal; below `high`.  In floating point, because the product of
 * a distance and a count may exceed 64 bits; rounding costs at most one more step of the search. */
HEW_INLINE unsigned
interpolated(const size_t *sizes, unsigned low, unsigned high, size_t size)
{
    double part = (double)(size - sizes[low]) / (double)(sizes[high] - sizes[low]);
    unsigned at = low + (unsigned)(part * (double)(high - low));
    return at < high ? at : high - 1;
}

HEW_EXPORT unsigned
hew_pool_lookup_by_interpolation(const size_t *sizes, unsigned count, size_t size)
{
    unsigned low = 0, high = count - 1;
    if (sizes[high] < size) {
        return count;
    }
    while (sizes[low] < size) { /* implies low < high */
        unsigned at = interpolated(sizes, low, high, size);
        if (sizes[at] < size) {
            low = at + 1;
        } else {
            high = at;
        }
    }
    return low;
}

HEW_EXPORT unsigned
hew_pool_lookup_by_hybrid(const size_t *sizes, unsigned count, size_t size)
{
    unsigned low = 0, high = count - 1;
    if (sizes[high] < size) {
        return count;
    }
    while (sizes[low] < size) {
        unsigned middle = low + (high - low) / 2, guess = interpolated(sizes, low, high, size);
        unsigned left = middle < guess ? middle : guess, right = middle < guess ? guess : middle;
        if (sizes[right] < size) {
            low = right + 1;
        } else if (sizes[left] < size) {
            low = left + 1;
            high = right;
        } else {
            high = left;
        }
    }
    return low;
}
