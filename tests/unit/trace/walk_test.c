/* SPDX-License-Identifier: MIT */
/* walk: the recorder's remembering walk finds what hew_unwind() finds, whatever the stack before was.  The tree is a list here. */
#include "record/walk.h"

#include "base/random.h"
#include "prof/unwind.h"
#include "record/next.h"
#include "record/python.h"
#include "record/tree.h"
#include "test.h"

#include <alloca.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#define NODES 200000
#define DEEPEST 600

static struct node {
    uint32_t parent;
    uintptr_t address;
} nodes[NODES];
static uint32_t node_count = 1;

uint32_t
hew_trace_tree_child(uint32_t parent, uintptr_t address)
{
    for (uint32_t i = parent + 1; i < node_count; i++) {
        if (nodes[i].parent == parent && nodes[i].address == address) {
            return i;
        }
    }
    nodes[node_count] = (struct node){parent, address};
    return node_count++;
}

bool
hew_trace_tree_note(uintptr_t begin, uintptr_t end)
{
    return false;
}

void *
hew_next_named(const char *name)
{
    return NULL;
}

size_t
hew_python_memory_size(void)
{
    return 0;
}

void
hew_python_forget(struct hew_python_memory *memory)
{
}

void
hew_python_meet(const struct hew_os_object *object)
{
}

uint32_t
hew_python_node(struct hew_python_memory *memory, const uintptr_t *addresses, unsigned count)
{
    return 0;
}

static struct hew_trace_walk *walk;
static unsigned compared;
static uint32_t last;

static HEW_NOINLINE bool
walks_agree(void)
{
    uintptr_t frames[DEEPEST], *frame = __builtin_frame_address(0);
#if defined(__x86_64__)
    struct hew_trace_start start = {frame[1], (uintptr_t)(frame + 2), frame[0]};
#else
    struct hew_trace_start start = {hew_registers_address(frame[1]), (uintptr_t)__builtin_dwarf_cfa(), frame[0]};
#endif
    uint32_t node = last = hew_trace_walk(walk, start);
    unsigned count = hew_unwind(frames, 512, start.sp);

    compared++;
    for (unsigned i = 0; i < count; i++) {
        if (node == 0 || nodes[node].address != frames[i]) {
            return false;
        }
        node = nodes[node].parent;
    }
    return node == 0;
}

static bool agree;

static HEW_NOINLINE void
look(void)
{
    agree = walks_agree() && agree;
}

static uint64_t
below(struct hew_random *random, uint64_t bound)
{
    return hew_random_next(random) % bound;
}

typedef void (*shape)(struct hew_random *random, unsigned depth);
static void descend(struct hew_random *random, unsigned depth);

static HEW_NOINLINE void
plain(struct hew_random *random, unsigned depth)
{
    descend(random, depth);
    __asm__ volatile("");
}

static HEW_NOINLINE void
with_alloca(struct hew_random *random, unsigned depth)
{
    volatile char *room = alloca(16 + below(random, 200));

    room[0] = 1;
    descend(random, depth);
    __asm__ volatile("" ::"r"(room));
}

static HEW_NOINLINE void
aligned(struct hew_random *random, unsigned depth)
{
    _Alignas(64) volatile char room[64];

    room[0] = 1;
    descend(random, depth);
    __asm__ volatile("" ::"r"(room));
}

static HEW_NOINLINE void
twice(struct hew_random *random, unsigned depth)
{
    descend(random, depth);
    look();
    descend(random, depth / 2);
    __asm__ volatile("");
}

static HEW_NOINLINE void
descend(struct hew_random *random, unsigned depth)
{
    static const shape shapes[] = {plain, with_alloca, aligned, twice};

    if (depth == 0) {
        look();
        return;
    }
    shapes[below(random, depth < 12 ? 4 : 3)](random, depth - 1);
    __asm__ volatile("");
}

TEST(it_finds_what_the_full_walk_finds_whatever_was_walked_before)
{
    struct hew_random random = {42};

    walk = hew_trace_walk_new();
    agree = true;
    for (unsigned i = 0; i < 300 && agree; i++) {
        descend(&random, (unsigned)below(&random, 14));
    }
    CHECK(agree);
    CHECK(compared >= 300);
    hew_trace_walk_free(walk);
}

TEST(the_same_stack_is_the_same_node)
{
    uint32_t first;

    walk = hew_trace_walk_new();
    agree = true;
    for (unsigned i = 0; i < 3; i++) {
        look();
        first = i == 0 ? last : first;
        CHECK(last == first && last != 0);
    }
    CHECK(agree);
    hew_trace_walk_free(walk);
}

static HEW_NOINLINE void
recurse(unsigned depth)
{
    if (depth == 0) {
        look();
    } else {
        recurse(depth - 1);
        __asm__ volatile("");
    }
}

TEST(a_stack_deeper_than_is_kept_loses_its_outermost_frames)
{
    walk = hew_trace_walk_new();
    agree = true;
    for (unsigned i = 0; i < 3; i++) {
        recurse(550);
        recurse(20);
        recurse(551 + i);
    }
    CHECK(agree);
    hew_trace_walk_free(walk);
}

static void
handle(int number)
{
    (void)number;
    look();
}

TEST(stacks_of_signal_handlers_are_walked_too)
{
    walk = hew_trace_walk_new();
    agree = true;
    signal(SIGUSR1, handle);
    for (unsigned i = 0; i < 3; i++) {
        raise(SIGUSR1);
        look();
    }
    CHECK(agree);
    hew_trace_walk_free(walk);
}

static ucontext_t mainly, aside;
static char other_stack[256 << 10];

static void
on_other_stack(void)
{
    for (;;) {
        recurse(3);
        swapcontext(&aside, &mainly);
    }
}

TEST(a_thread_that_changes_stacks_is_walked_on_each)
{
    walk = hew_trace_walk_new();
    agree = true;
    getcontext(&aside);
    aside.uc_stack.ss_sp = other_stack;
    aside.uc_stack.ss_size = sizeof(other_stack);
    aside.uc_link = NULL;
    makecontext(&aside, on_other_stack, 0);
    for (unsigned i = 0; i < 4; i++) {
        recurse(2);
        swapcontext(&mainly, &aside);
    }
    CHECK(agree);
    hew_trace_walk_free(walk);
}
