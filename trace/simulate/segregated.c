/* SPDX-License-Identifier: MIT */
/*
 * segregated: size classes with slabs (J. Bonwick, "The slab allocator", 1994), over pages by first fit.
 *
 * A slab is a run of pages divided into equal slots, with one bit each.  An object comes from the slab with the lowest
 * address that has a free slot, and from the lowest slot there.  An empty slab goes back.  Requests that are larger
 * than the largest class, or that no class can align, have pages of their own.  There are no thread caches and no
 * decay: the simulation measures the classes alone.  Work: one for each allocation and each free, and the free runs
 * that first fit visits when a slab or a large object needs pages.
 */
#include "simulate/policy.h"
#include "simulate/tree.h"

#include <stdlib.h>
#include <string.h>

#define LARGE UINT64_MAX /* the owner of objects with pages of their own */
#define DIRECT (UINT64_C(16) << 10)

struct slab {
    uint64_t address;
    uint64_t *bits; /* one for each free slot */
    uint32_t class;
    uint32_t slots;
    uint32_t free;
    uint32_t next; /* of the unused slab numbers */
};

struct segregated {
    struct policy policy;
    struct policy_methods methods;
    const struct policy_classes *classes;
    uint16_t direct[DIRECT / 8 + 1]; /* the class of a size, rounded up to 8 */
    struct tree pages;               /* free runs of pages, by address */
    struct tree *partial; /* for each class: slabs with a free slot, by address; the size is the number plus one */
    struct slab *slabs;
    uint32_t slab_count;
    uint32_t slab_room;
    uint32_t slab_free; /* number plus one */
};

static bool
take_pages(struct segregated *all, uint64_t bytes, uint64_t align, uint64_t *address)
{
    uint64_t wanted = bytes + (align > POLICY_PAGE ? align - POLICY_PAGE : 0), end, gap;
    struct tree_block found, head, rest;

    align = align < POLICY_PAGE ? POLICY_PAGE : align;
    if (!tree_first(&all->pages, 0, wanted, &found)) {
        all->policy.work += tree_count(&all->pages);
        *address = policy_round_up(all->policy.heap, align);
        gap = *address - all->policy.heap;
        head = (struct tree_block){all->policy.heap, gap};
        all->policy.heap = *address + bytes;
        return gap == 0 || tree_put(&all->pages, head);
    }
    all->policy.work += tree_rank(&all->pages, found.key) + 1;
    *address = policy_round_up(found.key, align);
    end = found.key + found.size;
    head = (struct tree_block){found.key, *address - found.key};
    rest = (struct tree_block){*address + bytes, end - *address - bytes};
    if (head.size == 0 && rest.size == 0) {
        return tree_drop(&all->pages, found);
    }
    if (head.size == 0) {
        return tree_change(&all->pages, found, rest);
    }
    return tree_change(&all->pages, found, head) && (rest.size == 0 || tree_put(&all->pages, rest));
}

static bool
give_pages(struct segregated *all, uint64_t address, uint64_t bytes)
{
    struct tree_block before, after, whole = {address, bytes};
    bool has_before = tree_before(&all->pages, address, &before) && before.key + before.size == address;
    bool has_after = tree_first(&all->pages, address, 0, &after) && after.key == address + bytes;

    if (has_after) {
        tree_drop(&all->pages, after);
        whole.size += after.size;
    }
    if (has_before) {
        whole = (struct tree_block){before.key, before.size + whole.size};
    }
    if (whole.key + whole.size == all->policy.heap) {
        if (has_before) {
            tree_drop(&all->pages, before);
        }
        all->policy.heap = whole.key;
        return true;
    }
    return has_before ? tree_change(&all->pages, before, whole) : tree_put(&all->pages, whole);
}

/* The index of the class for a size, or the count of classes when it is larger than all. */
static size_t
class_of(const struct segregated *all, uint64_t size)
{
    const struct policy_classes *classes = all->classes;
    size_t low = 0, high = classes->count;

    if (size <= DIRECT) {
        return all->direct[(size + 7) / 8];
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (classes->sizes[middle] < size) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns an unused slab number.  UINT32_MAX: no memory. */
static uint32_t
new_number(struct segregated *all)
{
    uint32_t number = all->slab_free;

    if (number != 0) {
        all->slab_free = all->slabs[number - 1].next;
        return number - 1;
    }
    if (all->slab_count == all->slab_room) {
        uint32_t room = all->slab_room != 0 ? all->slab_room * 2 : 64;
        struct slab *slabs = room > all->slab_room ? realloc(all->slabs, room * sizeof(*slabs)) : NULL;
        if (slabs == NULL) {
            return UINT32_MAX;
        }
        all->slabs = slabs;
        all->slab_room = room;
    }
    return all->slab_count++;
}

static bool
new_slab(struct segregated *all, size_t class, struct tree_block *found)
{
    uint64_t bytes = all->classes->slabs[class];
    uint32_t number = new_number(all), slots = (uint32_t)(bytes / all->classes->sizes[class]);
    size_t words = (slots + 63) / 64;
    struct slab *slab = number != UINT32_MAX ? &all->slabs[number] : NULL;

    if (slab == NULL) {
        return false;
    }
    *slab = (struct slab){.bits = malloc(words * 8), .class = (uint32_t)class, .slots = slots, .free = slots};
    if (slab->bits == NULL || !take_pages(all, bytes, POLICY_PAGE, &slab->address)) {
        return false;
    }
    memset(slab->bits, 0xff, words * 8);
    if (slots % 64 != 0) {
        slab->bits[words - 1] = (UINT64_C(1) << slots % 64) - 1;
    }
    *found = (struct tree_block){slab->address, number + UINT64_C(1)};
    return tree_put(&all->partial[class], *found);
}

static bool
take_slot(struct segregated *all, size_t class, struct policy_place *place)
{
    struct tree_block found;
    struct slab *slab;
    uint32_t word = 0, slot;

    if (!tree_first(&all->partial[class], 0, 0, &found) && !new_slab(all, class, &found)) {
        return false;
    }
    slab = &all->slabs[found.size - 1];
    while (slab->bits[word] == 0) {
        word++;
    }
    slot = word * 64 + (uint32_t)__builtin_ctzll(slab->bits[word]);
    slab->bits[word] &= slab->bits[word] - 1;
    if (--slab->free == 0) {
        tree_drop(&all->partial[class], found);
    }
    *place = (struct policy_place){slab->address + slot * all->classes->sizes[class], all->classes->sizes[class],
                                   all->classes->sizes[class], found.size - 1};
    return true;
}

static bool
take(struct policy *policy, uint64_t size, uint64_t align, struct policy_place *place)
{
    struct segregated *all = (struct segregated *)policy;
    size_t class = class_of(all, size);
    uint64_t rounded = policy_round_up(size, POLICY_PAGE);

    policy->work++;
    while (align > POLICY_QUANTUM && class < all->classes->count &&
           (align > POLICY_PAGE || all->classes->sizes[class] % align != 0)) {
        class ++; /* a class that aligns all its slots so */
    }
    if (class < all->classes->count) {
        return take_slot(all, class, place);
    }
    if (all->classes->large != NULL) {
        rounded = all->classes->large(rounded);
    }
    rounded = rounded != 0 ? rounded : POLICY_PAGE;
    *place = (struct policy_place){0, rounded, rounded, LARGE};
    return take_pages(all, rounded, align, &place->address);
}

static bool
give(struct policy *policy, const struct policy_place *place)
{
    struct segregated *all = (struct segregated *)policy;
    uint64_t size, number = place->owner;
    struct slab *slab;
    struct tree_block block;
    uint32_t slot;

    policy->work++;
    if (number == LARGE) {
        return give_pages(all, place->address, place->gross);
    }
    slab = &all->slabs[number];
    size = all->classes->sizes[slab->class];
    block = (struct tree_block){slab->address, number + 1};
    slot = (uint32_t)((place->address - slab->address) / size);
    slab->bits[slot / 64] |= UINT64_C(1) << slot % 64;
    if (slab->free++ == 0 && slab->slots > 1 && !tree_put(&all->partial[slab->class], block)) {
        return false;
    }
    if (slab->free < slab->slots) {
        return true;
    }
    tree_drop(&all->partial[slab->class], block);
    free(slab->bits);
    slab->bits = NULL;
    slab->next = all->slab_free;
    all->slab_free = (uint32_t)number + 1;
    return give_pages(all, block.key, all->classes->slabs[slab->class]);
}

static void
end(struct policy *policy)
{
    struct segregated *all = (struct segregated *)policy;

    for (uint32_t at = 0; at < all->slab_count; at++) {
        free(all->slabs[at].bits);
    }
    for (size_t class = 0; all->partial != NULL && class < all->classes->count; class ++) {
        tree_end(&all->partial[class]);
    }
    tree_end(&all->pages);
    free(all->partial);
    free(all->slabs);
    free(all);
}

struct policy *
policy_segregated(const struct policy_classes *classes)
{
    struct segregated *all = calloc(1, sizeof(*all));
    size_t class = 0;

    if (all == NULL) {
        return NULL;
    }
    all->methods = (struct policy_methods){classes->name, classes->about, take, give, end};
    all->policy.methods = &all->methods;
    all->classes = classes;
    tree_begin(&all->pages);
    all->partial = calloc(classes->count, sizeof(*all->partial));
    if (all->partial == NULL) {
        free(all);
        return NULL;
    }
    for (size_t at = 0; at < classes->count; at++) {
        tree_begin(&all->partial[at]);
    }
    for (uint64_t size = 0; size <= DIRECT; size += 8) {
        while (class < classes->count && classes->sizes[class] < size) {
            class ++;
        }
        all->direct[size / 8] = (uint16_t)class;
    }
    return &all->policy;
}
