/* SPDX-License-Identifier: MIT */
/*
 * buddy: the binary buddy system (K. Knowlton, "A fast storage allocator", 1965) and the Fibonacci one (D. Hirschberg,
 * "A class of dynamic memory allocation algorithms", 1973; two bits distinguish left and right buddies, as in B.
 * Cranston and R. Thomas, 1975).
 *
 * Sizes are powers of two, or Fibonacci numbers times 16 bytes.  A block is split until the request just fits, and
 * merges with its buddy as soon as both are free.  Memory comes in regions of 1 MiB, or of the size of a larger
 * request; a region that is wholly free goes back.  Block sizes are stored outside the blocks, so a request of 4 KiB
 * takes 4 KiB.  Work: one for each request and each free, and one for each split and merge.
 */
#include "simulate/blocks.h"
#include "simulate/policy.h"

#include <stdlib.h>

#define REGION (UINT64_C(1) << 20)

/* A block's mark: whether it is a right buddy, the memory bit of its parents, and from bit 2 on the order of its
 * region. */
enum { RIGHT = 1, MEMORY = 2, LG_REGION = 2 };

struct buddy {
    struct policy policy;
    struct blocks free;
    struct blocks spare; /* regions that were given back */
    uint64_t sizes[BLOCKS_ORDERS];
    unsigned orders;
    unsigned region; /* the smallest order of a region */
    bool fibonacci;
    uint64_t end; /* of the addresses used so far */
};

struct piece {
    uint64_t address;
    unsigned order;
    unsigned mark;
};

static bool
put(struct buddy *buddy, struct piece piece)
{
    return blocks_put(&buddy->free, piece.address, piece.order, piece.mark);
}

/* Creates a region that fits `order`. */
static void
new_region(struct buddy *buddy, unsigned order, struct piece *piece)
{
    unsigned mark;

    piece->order = order > buddy->region ? order : buddy->region;
    piece->mark = piece->order << LG_REGION;
    if (!blocks_pop(&buddy->spare, piece->order, &piece->address, &mark)) {
        /* A binary buddy is found by its address, so regions are aligned to their size. */
        uint64_t to = buddy->fibonacci ? POLICY_PAGE : buddy->sizes[piece->order];
        piece->address = policy_round_up(buddy->end, to);
        buddy->end = piece->address + buddy->sizes[piece->order];
    }
    buddy->policy.heap += buddy->sizes[piece->order];
}

/* Splits a piece until its order is the requested one, or the smallest possible above it. */
static bool
split_to(struct buddy *buddy, struct piece *piece, unsigned order)
{
    unsigned step = buddy->fibonacci ? 2 : 1;

    while (piece->order > order && piece->order >= step) {
        unsigned region = piece->mark & ~3u;
        struct piece left = {piece->address, piece->order - 1, region | ((piece->mark & RIGHT) != 0 ? MEMORY : 0)};
        struct piece right = {piece->address + buddy->sizes[left.order], piece->order - step,
                              region | RIGHT | (piece->mark & MEMORY)};
        bool goes_right = buddy->fibonacci && right.order >= order; /* the smaller one, if it suffices */

        buddy->policy.work++;
        if (!put(buddy, goes_right ? left : right)) {
            return false;
        }
        *piece = goes_right ? right : left;
    }
    return true;
}

static bool
take(struct policy *policy, uint64_t size, uint64_t align, struct policy_place *place)
{
    struct buddy *buddy = (struct buddy *)policy;
    uint64_t wanted = size, lead;
    struct piece piece = {0};
    unsigned order = 0, from;

    if (align > POLICY_QUANTUM) { /* a binary block is aligned to its size */
        wanted = buddy->fibonacci ? size + align - POLICY_QUANTUM : size < align ? align : size;
    }
    while (order < buddy->orders && buddy->sizes[order] < wanted) {
        order++;
    }
    if (order == buddy->orders) {
        return false;
    }
    for (from = order; from < buddy->orders; from++) {
        if (blocks_pop(&buddy->free, from, &piece.address, &piece.mark)) {
            piece.order = from;
            break;
        }
    }
    if (from == buddy->orders) {
        new_region(buddy, order, &piece);
    }
    if (!split_to(buddy, &piece, order)) {
        return false;
    }
    lead = policy_round_up(piece.address, align) - piece.address;
    policy->work++;
    *place = (struct policy_place){piece.address + lead, buddy->sizes[piece.order], buddy->sizes[piece.order] - lead,
                                   lead << 17 | (uint64_t)piece.order << 10 | piece.mark};
    return true;
}

/* The buddy of a piece, and whether the buddy is before it. */
static struct piece
buddy_of(const struct buddy *buddy, struct piece piece, bool *before)
{
    if (!buddy->fibonacci) {
        struct piece other = {piece.address ^ buddy->sizes[piece.order], piece.order, 0};
        *before = other.address < piece.address;
        return other;
    }
    *before = (piece.mark & RIGHT) != 0;
    if (*before) {
        return (struct piece){piece.address - buddy->sizes[piece.order + 1], piece.order + 1, 0};
    }
    return (struct piece){piece.address + buddy->sizes[piece.order], piece.order - 1, 0};
}

static bool
give(struct policy *policy, const struct policy_place *place)
{
    struct buddy *buddy = (struct buddy *)policy;
    struct piece piece = {place->address - (place->owner >> 17), place->owner >> 10 & 127, place->owner & 0x3ff};

    policy->work++;
    while (piece.order != piece.mark >> LG_REGION) {
        bool before;
        struct piece other = buddy_of(buddy, piece, &before), left, right;

        if (!blocks_take(&buddy->free, other.address, other.order, &other.mark)) {
            return put(buddy, piece);
        }
        policy->work++;
        left = before ? other : piece;
        right = before ? piece : other;
        piece = (struct piece){left.address, left.order + 1,
                               (left.mark & ~3u) | ((left.mark & MEMORY) != 0 ? RIGHT : 0) | (right.mark & MEMORY)};
    }
    policy->heap -= buddy->sizes[piece.order];
    return blocks_put(&buddy->spare, piece.address, piece.order, 0);
}

static void
end(struct policy *policy)
{
    struct buddy *buddy = (struct buddy *)policy;

    blocks_end(&buddy->free);
    blocks_end(&buddy->spare);
    free(buddy);
}

static struct policy *
make(bool fibonacci, const struct policy_methods *methods)
{
    struct buddy *buddy = calloc(1, sizeof(*buddy));
    unsigned order = 0;

    if (buddy == NULL) {
        return NULL;
    }
    buddy->policy.methods = methods;
    buddy->fibonacci = fibonacci;
    blocks_begin(&buddy->free);
    blocks_begin(&buddy->spare);
    do {
        uint64_t size = POLICY_QUANTUM << (order < 2 ? order : 0);
        if (order >= 2) {
            size = buddy->sizes[order - 1] + buddy->sizes[order - (fibonacci ? 2 : 1)];
        }
        buddy->sizes[order] = size;
        if (size < REGION) {
            buddy->region = order + 1;
        }
        order++;
    } while (order < BLOCKS_ORDERS && buddy->sizes[order - 1] < POLICY_SIZE_MAX * 2);
    buddy->orders = order;
    return &buddy->policy;
}

struct policy *
policy_binary_buddy(void)
{
    static const struct policy_methods methods = {"binary-buddy", "powers of two that split and merge", take, give,
                                                  end};
    return make(false, &methods);
}

struct policy *
policy_fibonacci_buddy(void)
{
    static const struct policy_methods methods = {
        "fibonacci-buddy", "Fibonacci numbers of 16 bytes that split and merge", take, give, end};
    return make(true, &methods);
}
