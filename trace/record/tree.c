/* SPDX-License-Identifier: MIT */
/*
 * tree: see tree.h.
 *
 * The index is a series of hash tables, each four times as large as the one before.  A node is in the first table that
 * had a free slot among the few slots for its hash.  Nodes are never removed, so a search that meets a free slot knows
 * that the node is new.
 */
#include "record/tree.h"

#include "format/format.h"
#include "os/syscall.h"
#include "record/about.h"
#include "record/file.h"

#include <sys/mman.h>

#define ROOM ((size_t)64 << 10)
#define PER_BLOCK ((ROOM - sizeof(struct hew_trace_block)) / sizeof(struct hew_trace_node))
#define BLOCKS (HEW_TRACE_NODES_MAX / PER_BLOCK)
#define LG_SMALLEST 16
#define LEVELS 6
#define PROBES 8
#define OBJECTS 512 /* recorded when first seen; more objects are recorded at the end of the process */

struct hew_trace_tree {
    uint64_t generation;
    uint32_t last; /* the number of the newest node */
    uint64_t *levels[LEVELS];
    struct hew_trace_block *blocks[BLOCKS];
    uintptr_t objects[OBJECTS]; /* start addresses */
};

static void *
map(size_t size)
{
    long mapped = hew_syscall6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return mapped < 0 ? NULL : (void *)mapped;
}

/* Returns *place, or what another thread has put there first. */
static void *
put_once(void **place, void *mapped, size_t size)
{
    void *none = NULL;

    if (mapped == NULL ||
        __atomic_compare_exchange_n(place, &none, mapped, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return mapped;
    }
    hew_syscall2(SYS_munmap, mapped, size);
    return none;
}

static struct hew_trace_tree *
tree_here(void)
{
    struct hew_trace_tree *tree = __atomic_load_n(&hew_trace_shared.tree, __ATOMIC_ACQUIRE);

    if (HEW_UNLIKELY(tree == NULL)) {
        tree = map(sizeof(*tree));
        if (tree != NULL) {
            tree->generation = hew_trace_shared.generation;
            tree = put_once((void **)&hew_trace_shared.tree, tree, sizeof(*tree));
        }
    }
    return tree;
}

static struct hew_trace_node *
node_at(struct hew_trace_tree *tree, uint32_t number)
{
    struct hew_trace_block *block = __atomic_load_n(&tree->blocks[(number - 1) / PER_BLOCK], __ATOMIC_ACQUIRE);

    return (struct hew_trace_node *)(block + 1) + (number - 1) % PER_BLOCK;
}

/* Creates the block for this node; false: no space in the file. */
static bool
make_block(struct hew_trace_tree *tree, uint32_t number)
{
    size_t which = (number - 1) / PER_BLOCK;
    struct hew_trace_block *block;

    if (__atomic_load_n(&tree->blocks[which], __ATOMIC_ACQUIRE) != NULL) {
        return true;
    }
    block = hew_trace_take_room(ROOM, tree->generation);
    if (block == NULL) {
        return false;
    }
    *block = (struct hew_trace_block){
        .magic = HEW_TRACE_BLOCK_MAGIC,
        .kind = HEW_TRACE_NODES,
        .state = HEW_TRACE_OPEN,
        .room = ROOM,
        .number = which * PER_BLOCK + 1,
    };
    return put_once((void **)&tree->blocks[which], block, ROOM) != NULL;
}

/* Adds a node; 0: no space. */
static uint32_t
add(struct hew_trace_tree *tree, uint32_t parent, uintptr_t address)
{
    uint32_t number = __atomic_load_n(&tree->last, __ATOMIC_RELAXED);
    struct hew_trace_node *node;

    if (number >= BLOCKS * PER_BLOCK - 4096 || !make_block(tree, number + 1)) {
        return 0;
    }
    number = __atomic_add_fetch(&tree->last, 1, __ATOMIC_RELAXED);
    if (!make_block(tree, number)) {
        return 0;
    }
    node = node_at(tree, number);
    node->parent = parent;
    __atomic_store_n(&node->address, address, __ATOMIC_RELEASE);
    return number;
}

static uint64_t *
level_at(struct hew_trace_tree *tree, unsigned level)
{
    uint64_t *slots = __atomic_load_n(&tree->levels[level], __ATOMIC_ACQUIRE);
    size_t bytes = sizeof(*slots) << (LG_SMALLEST + 2 * level);

    return slots != NULL ? slots : put_once((void **)&tree->levels[level], map(bytes), bytes);
}

/* A search for one stack. */
struct search {
    struct hew_trace_tree *tree;
    uint64_t hash;
    uintptr_t address;
    uint32_t parent;
    uint32_t made; /* a node created for it; 0: none yet */
};

static bool
is_wanted(const struct search *search, uint64_t slot)
{
    const struct hew_trace_node *node;

    if ((slot ^ search->hash) >> 32 != 0) {
        return false;
    }
    node = node_at(search->tree, (uint32_t)slot);
    return node->address == search->address && node->parent == search->parent;
}

/* Checks one slot, and fills it if it is free.  True: search->made is the node, or 0 if there is no space. */
static bool
look_at_slot(struct search *search, uint64_t *slot)
{
    uint64_t found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    if (found == 0) {
        search->made = search->made != 0 ? search->made : add(search->tree, search->parent, search->address);
        if (search->made == 0 || __atomic_compare_exchange_n(slot, &found, (search->hash >> 32 << 32) | search->made,
                                                             false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return true;
        }
    }
    if (is_wanted(search, found)) {
        search->made = (uint32_t)found;
        return true;
    }
    return false;
}

uint32_t
hew_trace_tree_child(uint32_t parent, uintptr_t address)
{
    struct search search = {.tree = tree_here(), .address = address, .parent = parent};
    uint64_t hash = (address ^ (uint64_t)parent << 40 ^ parent) * UINT64_C(0x9e3779b97f4a7c15), *slots;

    hash ^= hash >> 29;
    search.hash = hash *= UINT64_C(0xbf58476d1ce4e5b9);
    for (unsigned level = 0; search.tree != NULL && level < LEVELS; level++) {
        uint64_t mask = (UINT64_C(1) << (LG_SMALLEST + 2 * level)) - 1;
        slots = level_at(search.tree, level);
        for (unsigned probe = 0; slots != NULL && probe < PROBES; probe++) {
            if (look_at_slot(&search, &slots[(hash + probe) & mask])) {
                return search.made;
            }
        }
    }
    return search.made;
}

bool
hew_trace_tree_note(uintptr_t begin, uintptr_t end)
{
    struct hew_trace_tree *tree = tree_here();

    for (size_t i = 0; tree != NULL && i < OBJECTS; i++) {
        uintptr_t found = __atomic_load_n(&tree->objects[i], __ATOMIC_RELAXED);
        if (found == begin) {
            return false;
        }
        if (found == 0 &&
            __atomic_compare_exchange_n(&tree->objects[i], &found, begin, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            hew_trace_write_modules(begin, end, tree->generation);
            return true;
        }
        if (found == begin) {
            return false;
        }
    }
    return false;
}
