/* SPDX-License-Identifier: MIT */
#include "pool/lookup_plan.h"

#include "base/bits.h"

/*
 * The number of entries that a table may have for its declared sizes.  Up to 4 KiB the cost does not matter.  Beyond
 * that the limit is 16 bytes a declared size: little compared to the sizes' objects, and within the second-level cache
 * for tables of some ten thousand sizes.
 */
#define ENTRIES_FREE 2048u
#define ENTRIES_PER_SIZE 8u

/* In tables at most this uneven, interpolation takes one or two steps. */
#define EVEN_WITHIN 1.0

static bool
is_table(const size_t *sizes, unsigned count)
{
    if (count == 0 || count > HEW_POOL_LOOKUP_MOST || sizes[0] == 0) {
        return false;
    }
    for (unsigned i = 1; i < count; i++) {
        if (sizes[i] <= sizes[i - 1]) {
            return false;
        }
    }
    return true;
}

static uint32_t
entries_allowed(unsigned count)
{
    uint32_t by_count = count * ENTRIES_PER_SIZE;
    return by_count > ENTRIES_FREE ? by_count : ENTRIES_FREE;
}

/* The largest number of sizes in one stretch; stretches of 2^shift begin at size 1.  Counts sizes[low] to sizes[high -
 * 1]. */
static unsigned
most_in_a_stretch(const size_t *sizes, unsigned low, unsigned high, unsigned shift)
{
    unsigned most = 0, here = 0;
    for (unsigned i = low; i < high; i++) {
        bool same = i > low && (sizes[i] - 1) >> shift == (sizes[i - 1] - 1) >> shift;
        here = same ? here + 1 : 1;
        most = here > most ? here : most;
    }
    return most;
}

static void
plan_flat(struct hew_pool_lookup_plan *plan, const size_t *sizes, unsigned count)
{
    size_t bits = 0, largest = sizes[count - 1];
    for (unsigned i = 0; i < count; i++) {
        bits |= sizes[i];
    }
    unsigned natural = (unsigned)__builtin_ctzll(bits), shift = natural;
    while ((largest - 1) >> shift >= entries_allowed(count) - 2) {
        shift++;
    }
    plan->method = HEW_POOL_LOOKUP_FLAT;
    plan->direct = shift == natural;
    plan->shift = shift;
    plan->entries = (uint32_t)((largest - 1) >> shift) + 2; /* in a direct table, size 0 has its own entry */
    plan->most = most_in_a_stretch(sizes, 0, count, shift);
}

/* The widest stretches between two powers of two that hold one size each, within that range's share of the entries. */
static unsigned
shift_of_doubling(const size_t *sizes, unsigned low, unsigned high, unsigned doubling)
{
    unsigned narrowest = hew_bits_ceil_log2((uint64_t)(high - low) * ENTRIES_PER_SIZE / 2);
    unsigned shift = doubling, last = doubling > narrowest ? doubling - narrowest : 0;
    while (shift > last && most_in_a_stretch(sizes, low, high, shift) > 1) {
        shift--;
    }
    return shift;
}

static void
plan_doubling(struct hew_pool_lookup_plan *plan, const size_t *sizes, unsigned count)
{
    unsigned low = 0, high = 0;
    plan->method = HEW_POOL_LOOKUP_DOUBLING;
    plan->entries = 0;
    plan->most = 0;
    for (unsigned doubling = 0; doubling < HEW_POOL_DOUBLINGS; doubling++) {
        while (high < count && hew_bits_floor_log2((sizes[high] - 1) | 1) == doubling) {
            high++;
        }
        unsigned shift = high > low ? shift_of_doubling(sizes, low, high, doubling) : doubling;
        unsigned most = most_in_a_stretch(sizes, low, high, shift);
        plan->doublings[doubling] = (struct hew_pool_lookup_doubling){plan->entries, shift};
        plan->entries += UINT32_C(1) << (doubling - shift);
        plan->most = most > plan->most ? most : plan->most;
        low = high;
    }
    plan->entries++;
}

/* The largest error, in steps, of interpolation over the whole table. */
static double
unevenness(const size_t *sizes, unsigned count)
{
    double step = (double)(sizes[count - 1] - sizes[0]) / (double)(count - 1), most = 0;
    for (unsigned i = 0; i < count; i++) {
        double off = (double)(sizes[i] - sizes[0]) / step - (double)i;
        off = off < 0 ? -off : off;
        most = off > most ? off : most;
    }
    return most;
}

/*
 * The best table is one whose entry is the answer; next, one with an entry and one compare.  The remaining tables have
 * sizes that are close together far from 0.  For them use interpolation if they are even, otherwise the entries that
 * narrow the search most.
 */
static void
plan_auto(struct hew_pool_lookup_plan *plan, const size_t *sizes, unsigned count)
{
    plan_flat(plan, sizes, count);
    if (plan->direct) {
        return;
    }
    plan_doubling(plan, sizes, count);
    if (plan->most > 1 && unevenness(sizes, count) <= EVEN_WITHIN) {
        plan->method = HEW_POOL_LOOKUP_INTERPOLATION;
    } else if (plan->most > count / 4) {
        plan->method = HEW_POOL_LOOKUP_MIDPOINT;
    }
}

void
hew_pool_lookup_plan(struct hew_pool_lookup_plan *plan, const size_t *sizes, unsigned count,
                     enum hew_pool_lookup_method method)
{
    *plan = (struct hew_pool_lookup_plan){0};
    if (!is_table(sizes, count) || (unsigned)method > HEW_POOL_LOOKUP_DOUBLING) {
        return;
    }
    switch (method) {
    case HEW_POOL_LOOKUP_AUTO:
        plan_auto(plan, sizes, count);
        break;
    case HEW_POOL_LOOKUP_FLAT:
        plan_flat(plan, sizes, count);
        break;
    case HEW_POOL_LOOKUP_DOUBLING:
        plan_doubling(plan, sizes, count);
        break;
    default:
        plan->method = method;
    }
}
