/* SPDX-License-Identifier: MIT */
/*
 * Extent hooks that refuse, lie within the rules, allocate, or ask mallctl again.  jemalloc deadlocks in the last, so that
 * part runs only with HEW_TEST_LIBRARY.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <sys/mman.h>

#define NONE MALLOCX_TCACHE_NONE

static _Atomic unsigned calls[9];
static _Atomic uint64_t random_state;
static bool refusing, chatty, stingy;
static _Atomic size_t outstanding;

enum { ALLOC, DALLOC, DESTROY, COMMIT, DECOMMIT, LAZY, FORCED, SPLIT, MERGE };

static bool
refuses(int hook)
{
    calls[hook]++;
    uint64_t state = random_state++;
    return refusing && under_test_random(&state) % 3 == 0;
}

static void
chat(void)
{
    static __thread bool inside;
    if (!chatty || inside) {
        return;
    }
    inside = true;
    void *object = malloc(3000), *large = malloc(300000);
    ctl_refresh();
    (void)ctl_size("stats.allocated");
    (void)ctl_do("arena.0.purge");
    free(object);
    free(large);
    inside = false;
}

static void *
hook_alloc(struct hooks *self, void *address, size_t size, size_t alignment, bool *zero, bool *commit, unsigned arena)
{
    (void)self, (void)arena;
    chat();
    if (address != NULL || (refuses(ALLOC) && stingy)) {
        return NULL;
    }
    calls[ALLOC]++;
    char *memory = mmap(NULL, size + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    char *begin = (char *)(((uintptr_t)memory + alignment - 1) / alignment * alignment);
    if (begin > memory) {
        munmap(memory, (size_t)(begin - memory));
    }
    munmap(begin + size, (size_t)(memory + alignment - begin));
    /* Memory with contents, said to be so. */
    if (!*zero) {
        memset(begin, 0xbb, size);
    }
    *commit = true;
    outstanding += size;
    return begin;
}

static bool
hook_dalloc(struct hooks *self, void *address, size_t size, bool committed, unsigned arena)
{
    (void)self, (void)committed, (void)arena;
    chat();
    if (refuses(DALLOC)) {
        return true;
    }
    outstanding -= size;
    munmap(address, size);
    return false;
}

static void
hook_destroy(struct hooks *self, void *address, size_t size, bool committed, unsigned arena)
{
    (void)self, (void)committed, (void)arena;
    calls[DESTROY]++;
    chat();
    outstanding -= size;
    munmap(address, size);
}

static bool
hook_commit(struct hooks *self, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    (void)self, (void)address, (void)size, (void)offset, (void)length, (void)arena;
    chat();
    return refuses(COMMIT);
}

static bool
hook_decommit(struct hooks *self, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    (void)self, (void)address, (void)size, (void)offset, (void)length, (void)arena;
    calls[DECOMMIT]++;
    chat();
    return true;
}

static bool
hook_lazy(struct hooks *self, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    (void)self, (void)size, (void)arena;
    chat();
    return refuses(LAZY) || madvise((char *)address + offset, length, MADV_FREE) != 0;
}

static bool
hook_forced(struct hooks *self, void *address, size_t size, size_t offset, size_t length, unsigned arena)
{
    (void)self, (void)size, (void)arena;
    chat();
    return refuses(FORCED) || madvise((char *)address + offset, length, MADV_DONTNEED) != 0;
}

static bool
hook_split(struct hooks *self, void *address, size_t size, size_t first, size_t second, bool committed, unsigned arena)
{
    (void)self, (void)address, (void)committed, (void)arena;
    CHECK_EQUAL(first + second, size);
    chat();
    return refuses(SPLIT);
}

static bool
hook_merge(struct hooks *self, void *first, size_t first_size, void *second, size_t second_size, bool committed,
           unsigned arena)
{
    (void)self, (void)second_size, (void)committed, (void)arena;
    CHECK((char *)first + first_size == (char *)second);
    chat();
    return refuses(MERGE);
}

static struct hooks all_hooks = {hook_alloc, hook_dalloc, hook_destroy, hook_commit, hook_decommit,
                                 hook_lazy,  hook_forced, hook_split,   hook_merge};

static unsigned
arena_with(struct hooks *hooks)
{
    unsigned arena = UINT32_MAX;
    size_t length = sizeof arena;
    CHECK_EQUAL(mallctl("arenas.create", &arena, &length, &hooks, sizeof hooks), 0);
    return arena;
}

/* Every byte of each object belongs to it alone: its tag must be there when it goes. */
static void
churn(unsigned arena, uint64_t seed, int rounds)
{
    static __thread struct {
        unsigned char *object;
        size_t size;
        unsigned char tag;
    } slots[64];
    for (int round = 0; round < rounds + 64; round++) {
        size_t slot = round < rounds ? under_test_random(&seed) % 64 : (size_t)(round - rounds);
        if (slots[slot].object != NULL) {
            CHECK(slots[slot].object[0] == slots[slot].tag);
            CHECK(slots[slot].object[slots[slot].size - 1] == slots[slot].tag);
            dallocx(slots[slot].object, NONE);
            slots[slot].object = NULL;
        }
        if (round >= rounds) {
            continue;
        }
        size_t size = (size_t)1 << under_test_random(&seed) % 22;
        bool zero = under_test_random(&seed) % 4 == 0;
        unsigned char *object = mallocx(size, MALLOCX_ARENA(arena) | NONE | (zero ? MALLOCX_ZERO : 0));
        if (object == NULL) {
            continue;
        }
        if (zero) {
            CHECK(object[0] == 0 && object[size / 2] == 0 && object[size - 1] == 0);
        }
        slots[slot].tag = (unsigned char)(round | 1);
        memset(object, slots[slot].tag, size);
        slots[slot].object = object;
        slots[slot].size = size;
        if (under_test_random(&seed) % 500 == 0) {
            CHECK_EQUAL(ctl_do(ctl_name(round % 2 == 0 ? "arena.%zu.purge" : "arena.%zu.decay", arena)), 0);
        }
    }
}

static void
try_arena(int rounds)
{
    unsigned arena = arena_with(&all_hooks);
    churn(arena, (uint64_t)rounds, rounds);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", arena)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.reset", arena)), 0);
    churn(arena, (uint64_t)rounds + 1, rounds / 4);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

TEST(an_arena_lives_on_what_its_hooks_give)
{
    try_arena(4000);
    CHECK(calls[ALLOC] > 0 && calls[SPLIT] > 0 && calls[DESTROY] + calls[DALLOC] > 0);
    /* jemalloc keeps some of its own bookkeeping of the arena in the arena's memory, and never gives that back. */
    CHECK(outstanding == 0 || !under_test_strict());
}

TEST(hooks_may_refuse)
{
    refusing = true;
    try_arena(4000);
    stingy = true;
    try_arena(4000);
    refusing = stingy = false;
}

TEST(hooks_may_allocate_and_ask_mallctl)
{
    UNDER_TEST_HEW_ALONE();
    chatty = true;
    try_arena(1000);
    refusing = true;
    try_arena(1000);
    chatty = refusing = false;
}

static struct hooks minimal = {.alloc = hook_alloc};

TEST(one_hook_is_enough)
{
    unsigned arena = arena_with(&minimal);
    churn(arena, 5, 2000);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.purge", arena)), 0);
    CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
}

static void *
refuse_always(struct hooks *self, void *address, size_t size, size_t alignment, bool *zero, bool *commit,
              unsigned arena)
{
    (void)self, (void)address, (void)size, (void)alignment, (void)zero, (void)commit, (void)arena;
    return NULL;
}

TEST(an_arena_without_memory_gives_none)
{
    struct hooks *nothing = &(struct hooks){.alloc = refuse_always};
    unsigned arena = UINT32_MAX;
    size_t length = sizeof arena;
    int status = mallctl("arenas.create", &arena, &length, &nothing, sizeof nothing);
    if (status == 0) { /* jemalloc takes its bookkeeping from the hooks too, and says EAGAIN */
        CHECK(mallocx(100, MALLOCX_ARENA(arena) | NONE) == NULL);
        CHECK(mallocx(1 << 20, MALLOCX_ARENA(arena) | NONE) == NULL);
        CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
    } else {
        CHECK_EQUAL(status, EAGAIN);
    }
}

static void *
make_and_destroy(void *seed)
{
    for (int i = 0; i < 40; i++) {
        unsigned arena = (i & 1) != 0 ? arena_with(&all_hooks) : ctl_new_arena();
        CHECK(arena != UINT32_MAX);
        churn(arena, (uintptr_t)seed + (uintptr_t)i, 100);
        CHECK_EQUAL(ctl_do(ctl_name((i & 2) != 0 ? "arena.%zu.reset" : "arena.%zu.purge", arena)), 0);
        CHECK_EQUAL(ctl_do(ctl_name("arena.%zu.destroy", arena)), 0);
    }
    return NULL;
}

static _Atomic bool done;

static void
ignore(void *opaque, const char *text)
{
    (void)opaque, (void)text;
}

static void *
watch(void *unused)
{
    while (!done) {
        ctl_refresh();
        malloc_stats_print(ignore, NULL, "Jx");
        (void)ctl_do("arena.4096.purge");
        (void)ctl_do("arena.4096.decay");
    }
    return unused;
}

TEST(arenas_come_and_go_under_threads_that_watch)
{
    pthread_t threads[4], watcher;
    pthread_create(&watcher, NULL, watch, NULL);
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, make_and_destroy, (void *)(i * 1000));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    done = true;
    pthread_join(watcher, NULL);
    CHECK(ctl_unsigned("arenas.narenas") < 100);
}
