/* SPDX-License-Identifier: MIT */
/*
 * fork_arenas: fork while other threads make arenas, with hooks and without, fill, reset and destroy them; the child does
 * the same, and what it had before the fork is whole.  A child that hangs is ended by its alarm.
 *
 * Settings: HEW_FORKS (default 60).
 */
#include "stuck.h"
#include "under_test.h"
#include "unit/test.h"
#include "users/jemalloc_calls.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MAKERS = 3, OBJECTS = 200 };

static atomic_bool stop;
static atomic_uint wrong, lives;
static struct hooks *original;
static struct hooks wrapped;

/* A hook that allocates. */
static bool
split_with_malloc(struct hooks *hooks, void *address, size_t size, size_t first, size_t second, bool committed,
                  unsigned arena)
{
    char *volatile note = malloc(100);
    if (note != NULL) {
        note[99] = 1;
    }
    free(note);
    return original->split(hooks, address, size, first, second, committed, arena);
}

static bool
live_once(uint64_t *seed)
{
    unsigned arena = 0;
    size_t length = sizeof arena;
    struct hooks *hooks = &wrapped;
    bool hooked = under_test_random(seed) % 2 == 0;
    if (mallctl("arenas.create", &arena, &length, hooked ? &hooks : NULL, hooked ? sizeof hooks : 0) != 0) {
        return false;
    }
    char name[64];
    static _Thread_local unsigned char *objects[OBJECTS];
    for (unsigned i = 0; i < OBJECTS; i++) {
        size_t size = under_test_random(seed) % (i % 50 == 0 ? 3000000 : 3000) + 1;
        objects[i] = mallocx(size, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
        if (objects[i] == NULL) {
            return false;
        }
        objects[i][0] = objects[i][size - 1] = (unsigned char)i;
    }
    for (unsigned i = 0; i < OBJECTS; i += 2) {
        if (objects[i][0] != (unsigned char)i) {
            return false;
        }
        dallocx(objects[i], MALLOCX_TCACHE_NONE);
    }
    snprintf(name, sizeof name, "arena.%u.%s", arena, under_test_random(seed) % 2 == 0 ? "reset" : "purge");
    bool right = mallctl(name, NULL, NULL, NULL, 0) == 0;
    snprintf(name, sizeof name, "arena.%u.destroy", arena);
    return mallctl(name, NULL, NULL, NULL, 0) == 0 && right;
}

static void *
live_until_told(void *argument)
{
    for (uint64_t seed = (uintptr_t)argument; !stop; lives++) {
        wrong += !live_once(&seed);
    }
    return NULL;
}

static int
live_as_child(uint64_t seed, unsigned char *kept, unsigned arena)
{
    char name[64];
    alarm(STUCK_SECONDS);
    for (unsigned i = 0; i < 5000; i++) {
        if (kept[i] != (unsigned char)i) {
            return 1;
        }
    }
    for (unsigned round = 0; round < 5; round++) {
        if (!live_once(&seed)) {
            return 2;
        }
    }
    free(malloc(100000));
    snprintf(name, sizeof name, "arena.%u.destroy", arena);
    return mallctl(name, NULL, NULL, NULL, 0) == 0 ? 0 : 3;
}

TEST(children_of_a_process_that_makes_and_destroys_arenas_do_so_too)
{
    const char *text = getenv("HEW_FORKS");
    unsigned arena = 0, forks = text == NULL ? 60 : (unsigned)atoi(text);
    size_t length = sizeof original;
    pthread_t makers[MAKERS];
    CHECK(mallctl("arena.0.extent_hooks", &original, &length, NULL, 0) == 0);
    wrapped = *original;
    wrapped.split = split_with_malloc;
    length = sizeof arena;
    CHECK(mallctl("arenas.create", &arena, &length, NULL, 0) == 0);
    unsigned char *kept = mallocx(5000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
    for (unsigned i = 0; i < 5000; i++) {
        kept[i] = (unsigned char)i;
    }
    for (uintptr_t i = 0; i < MAKERS; i++) {
        pthread_create(&makers[i], NULL, live_until_told, (void *)(i + 1));
    }
    for (unsigned i = 0; i < forks; i++) {
        pid_t child = fork();
        if (child == 0) {
            _exit(live_as_child(i + 1000, kept, arena));
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_EQUAL(status, 0);
    }
    stop = true;
    for (unsigned i = 0; i < MAKERS; i++) {
        pthread_join(makers[i], NULL);
    }
    CHECK_EQUAL(wrong, 0);
    CHECK(lives > 0);
}
