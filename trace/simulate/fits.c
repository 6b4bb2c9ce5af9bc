/* SPDX-License-Identifier: MIT */
/*
 * fits: first, next, best and worst fit (D. Knuth, The Art of Computer Programming 1, 2.5; P. Wilson and others,
 * "Dynamic storage allocation: a survey and critical review", 1995).
 *
 * One range of addresses that grows at its end.  An object takes its size and a header of 8 bytes (boundary tags), in
 * steps of 16, at least 32.  Free blocks merge with their neighbours at once, and a free block at the end goes back to
 * the system.  So each policy uses as little memory as it can.  Work: the free blocks that a walk through a list in
 * address order would visit; for best and worst fit these are all.
 */
#include "simulate/policy.h"
#include "simulate/tree.h"

#include <stdlib.h>

#define HEADER 8
#define LEAST UINT64_C(32)

enum fit { FIRST, NEXT, BEST, WORST };

struct fits {
    struct policy policy;
    enum fit fit;
    struct tree free;    /* by address */
    struct tree by_size; /* best fit only: by size, then address */
    uint64_t rover;      /* next fit: end of the last search */
};

static bool
add_free(struct fits *fits, struct tree_block block)
{
    return tree_put(&fits->free, block) &&
           (fits->fit != BEST || tree_put(&fits->by_size, (struct tree_block){block.size, block.key}));
}

static void
drop_free(struct fits *fits, struct tree_block block)
{
    tree_drop(&fits->free, block);
    if (fits->fit == BEST) {
        tree_drop(&fits->by_size, (struct tree_block){block.size, block.key});
    }
}

static bool
change_free(struct fits *fits, struct tree_block before, struct tree_block after)
{
    if (fits->fit == BEST) {
        tree_drop(&fits->by_size, (struct tree_block){before.size, before.key});
        if (!tree_put(&fits->by_size, (struct tree_block){after.size, after.key})) {
            return false;
        }
    }
    return tree_change(&fits->free, before, after);
}

/* The smallest block that is large enough; of several, the one with the lowest address. */
static bool
find_best(struct fits *fits, uint64_t size, struct tree_block *found)
{
    struct tree_block reversed;

    fits->policy.work += tree_count(&fits->free);
    if (!tree_first(&fits->by_size, size, 0, &reversed)) {
        return false;
    }
    *found = (struct tree_block){reversed.size, reversed.key};
    return true;
}

static bool
find_next(struct fits *fits, uint64_t size, struct tree_block *found)
{
    uint64_t count = tree_count(&fits->free), begin = tree_rank(&fits->free, fits->rover);

    if (tree_first(&fits->free, fits->rover, size, found)) {
        fits->policy.work += tree_rank(&fits->free, found->key) - begin + 1;
        return true;
    }
    if (tree_first(&fits->free, 0, size, found)) {
        fits->policy.work += count - begin + tree_rank(&fits->free, found->key) + 1;
        return true;
    }
    fits->policy.work += count;
    return false;
}

static bool
find(struct fits *fits, uint64_t size, struct tree_block *found)
{
    switch (fits->fit) {
    case FIRST:
        if (!tree_first(&fits->free, 0, size, found)) {
            fits->policy.work += tree_count(&fits->free);
            return false;
        }
        fits->policy.work += tree_rank(&fits->free, found->key) + 1;
        return true;
    case NEXT:
        return find_next(fits, size, found);
    case BEST:
        return find_best(fits, size, found);
    case WORST:
    default:
        fits->policy.work += tree_count(&fits->free);
        return tree_largest(&fits->free, found) && found->size >= size;
    }
}

/* Takes [address, address + gross) out of a free block that contains it. */
static bool
carve(struct fits *fits, struct tree_block block, uint64_t address, uint64_t gross)
{
    uint64_t end = block.key + block.size, rest = end - address - gross;

    fits->rover = address + gross;
    if (address > block.key) {
        struct tree_block head = {block.key, address - block.key};
        return change_free(fits, block, head) && (rest == 0 || add_free(fits, (struct tree_block){end - rest, rest}));
    }
    if (rest != 0) {
        return change_free(fits, block, (struct tree_block){end - rest, rest});
    }
    drop_free(fits, block);
    return true;
}

static uint64_t
aligned(uint64_t address, uint64_t align)
{
    return policy_round_up(address + HEADER, align) - HEADER;
}

static bool
take(struct policy *policy, uint64_t size, uint64_t align, struct policy_place *place)
{
    struct fits *fits = (struct fits *)policy;
    uint64_t gross = policy_round_up(size + HEADER, POLICY_QUANTUM), address, gap;
    struct tree_block found;

    gross = gross < LEAST ? LEAST : gross;
    align = align < POLICY_QUANTUM ? POLICY_QUANTUM : align;
    /* Headers are 8 bytes below multiples of 16, where blocks begin. */
    if (find(fits, gross + (align > POLICY_QUANTUM ? align : 0), &found)) {
        address = aligned(found.key, align);
        *place = (struct policy_place){address, gross, gross - HEADER, 0};
        return carve(fits, found, address, gross);
    }
    address = aligned(fits->policy.heap + HEADER, align);
    gap = address - (fits->policy.heap + HEADER);
    if (gap != 0 && !add_free(fits, (struct tree_block){address - gap, gap})) {
        return false;
    }
    fits->policy.heap = address + gross - HEADER;
    fits->rover = address + gross;
    *place = (struct policy_place){address, gross, gross - HEADER, 0};
    return true;
}

static bool
give(struct policy *policy, const struct policy_place *place)
{
    struct fits *fits = (struct fits *)policy;
    struct tree_block block = {place->address, place->gross}, before, after;
    bool has_before = tree_before(&fits->free, block.key, &before) && before.key + before.size == block.key;
    bool has_after = tree_first(&fits->free, block.key, 0, &after) && after.key == block.key + block.size;
    struct tree_block whole = {has_before ? before.key : block.key,
                               block.size + (has_before ? before.size : 0) + (has_after ? after.size : 0)};

    policy->work++;
    if (fits->rover > whole.key && fits->rover < whole.key + whole.size) {
        fits->rover = whole.key;
    }
    if (has_after) {
        drop_free(fits, after);
    }
    if (whole.key + whole.size == policy->heap + HEADER) {
        if (has_before) {
            drop_free(fits, before);
        }
        policy->heap = whole.key - HEADER;
        return true;
    }
    return has_before ? change_free(fits, before, whole) : add_free(fits, whole);
}

static void
end(struct policy *policy)
{
    struct fits *fits = (struct fits *)policy;

    tree_end(&fits->free);
    tree_end(&fits->by_size);
    free(fits);
}

static struct policy *
make(enum fit fit, const struct policy_methods *methods)
{
    struct fits *fits = calloc(1, sizeof(*fits));

    if (fits == NULL) {
        return NULL;
    }
    fits->policy.methods = methods;
    fits->fit = fit;
    tree_begin(&fits->free);
    tree_begin(&fits->by_size);
    return &fits->policy;
}

struct policy *
policy_first_fit(void)
{
    static const struct policy_methods methods = {"first-fit", "the free block with the lowest address", take, give,
                                                  end};
    return make(FIRST, &methods);
}

struct policy *
policy_next_fit(void)
{
    static const struct policy_methods methods = {"next-fit", "first fit that begins where the last search ended", take,
                                                  give, end};
    return make(NEXT, &methods);
}

struct policy *
policy_best_fit(void)
{
    static const struct policy_methods methods = {"best-fit", "the smallest free block that is large enough", take,
                                                  give, end};
    return make(BEST, &methods);
}

struct policy *
policy_worst_fit(void)
{
    static const struct policy_methods methods = {"worst-fit", "the largest free block", take, give, end};
    return make(WORST, &methods);
}
