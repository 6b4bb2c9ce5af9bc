/* SPDX-License-Identifier: MIT */
/*
 * RocksDB's cache that core dumps leave out: an arena of its own whose alloc hook is wrapped to call madvise, used
 * through one explicit cache per thread.  The same calls in the same order.
 */
#include "jemalloc_calls.h"
#include "preload/under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <sys/mman.h>

static struct hooks original, wrapped;
static _Atomic size_t mappings, mapped;
static unsigned cache_arena;

static void *
alloc_without_dump(struct hooks *hooks, void *address, size_t size, size_t alignment, bool *zero, bool *commit,
                   unsigned arena)
{
    (void)hooks;
    void *result = original.alloc(&original, address, size, alignment, zero, commit, arena);
    if (result != NULL) {
        madvise(result, size, MADV_DONTDUMP);
        mappings++;
        mapped += size;
    }
    return result;
}

/* "dd" among VmFlags of the mapping that holds the address. */
static bool
is_left_out_of_dumps(const void *address)
{
    char line[512];
    bool inside = false, found = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long begin, end;
        char dash;
        if (sscanf(line, "%lx%c%lx ", &begin, &dash, &end) == 3 && dash == '-') {
            inside = (uintptr_t)address >= begin && (uintptr_t)address < end;
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            found = strstr(line, " dd") != NULL;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

TEST(an_arena_takes_a_wrapped_hook)
{
    cache_arena = ctl_new_arena();
    struct hooks *before = NULL, *after = &wrapped;
    size_t length = sizeof before;
    char name[64];
    snprintf(name, sizeof name, "arena.%u.extent_hooks", cache_arena);
    CHECK_EQUAL(mallctl(name, &before, &length, NULL, 0), 0);
    CHECK(before != NULL && before->alloc != NULL);
    original = *before;
    wrapped = original;
    wrapped.alloc = alloc_without_dump;
    CHECK_EQUAL(ctl_write(name, &after, sizeof after), 0);
    CHECK_EQUAL(mallctl(name, &before, &length, NULL, 0), 0);
    CHECK(before == &wrapped);
}

TEST(what_the_arena_maps_is_left_out_of_core_dumps)
{
    size_t length, owner_length;
    unsigned owner;
    static const size_t sizes[] = {100, 4096, 16384, 70000, 4 << 20, 40 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = mallocx(sizes[i], MALLOCX_ARENA(cache_arena) | MALLOCX_TCACHE_NONE);
        CHECK(block != NULL && is_left_out_of_dumps(block));
        owner_length = sizeof owner;
        length = sizeof block;
        CHECK_EQUAL(mallctl("arenas.lookup", &owner, &owner_length, &block, length), 0);
        CHECK_EQUAL(owner, cache_arena);
        memset(block, 1, sizes[i]);
        dallocx(block, MALLOCX_TCACHE_NONE);
    }
    CHECK(mappings > 0 && mapped >= 40 << 20);
    void *usual = malloc(70000);
    CHECK(!is_left_out_of_dumps(usual));
    free(usual);
}

static void *
use_the_cache(void *seed)
{
    unsigned cache = ctl_unsigned("tcache.create");
    uint64_t random = (uintptr_t)seed;
    void *blocks[256] = {0};
    int flags = MALLOCX_ARENA(cache_arena) | MALLOCX_TCACHE(cache);
    for (int i = 0; i < 20000; i++) {
        size_t slot = under_test_random(&random) % 256, size = 1 + under_test_random(&random) % 32768;
        if (blocks[slot] != NULL) {
            dallocx(blocks[slot], MALLOCX_TCACHE(cache));
        }
        blocks[slot] = mallocx(size, flags);
        CHECK(blocks[slot] != NULL && malloc_usable_size(blocks[slot]) >= size);
        memset(blocks[slot], i, size);
    }
    for (int i = 0; i < 256; i++) {
        if (blocks[i] != NULL) {
            dallocx(blocks[i], MALLOCX_TCACHE(cache));
        }
    }
    CHECK_EQUAL(ctl_write("tcache.destroy", &cache, sizeof cache), 0);
    return NULL;
}

TEST(threads_use_the_arena_each_through_a_cache_of_its_own)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, use_the_cache, (void *)(i + 1));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

TEST(the_arena_can_be_destroyed_at_the_end)
{
    char name[64];
    snprintf(name, sizeof name, "arena.%u.destroy", cache_arena);
    CHECK_EQUAL(ctl_do(name), 0);
}
