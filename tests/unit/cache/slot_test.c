/* SPDX-License-Identifier: MIT */
/*
 * slot: the CPUs' slots on real threads, which are preempted, moved to other CPUs and interrupted in the middle of pop and push,
 * while another thread empties the slots.  An object that two threads get at once, or that is lost, is noticed.
 */
#include "cache/slot.h"

#include "cache/depot.h"
#include "cache/magazine.h"
#include "cache/owner.h"
#include "cache/thread.h"
#include "layers.h"
#include "layers_random.h"
#include "os/syscall.h"
#include "test.h"

#include "fakes/child.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#define THREADS 4
#define DISTURBANCES 1500 /* signals for each thread; each 8th time it moves, each 32nd time all slots are emptied */
#define HELD 64

#define NO_SLOTS "no restartable sequences here"

static unsigned code;
static atomic_bool stop;
static _Atomic unsigned wrong, handled;

static bool
begin(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
        hew_options.narenas = 2;
        hew_slot_boot();
        code = hew_code_of_size(64);
    }
    return hew_slot_count != 0;
}

/* The object is ours from now on; it was nobody's. */
static void
claim(void *object)
{
    wrong += atomic_exchange((_Atomic uint32_t *)object, 1) == 1;
}

static void
release(void *object)
{
    wrong += atomic_exchange((_Atomic uint32_t *)object, 0) == 0;
}

/* A fresh object may hold anything. */
static void *
fresh(void)
{
    void *object = NULL;
    struct hew_arena *arena = hew_home.cache->arena;
    if (hew_bin_take(&arena->bins[code], &arena->pages, code, &object, 1) == 1) {
        atomic_store((_Atomic uint32_t *)object, 1);
    }
    return object;
}

static __thread struct {
    void *objects[HELD]; /* that the handler could not put back */
    volatile sig_atomic_t count;
    volatile sig_atomic_t ready;
} stash;

/* Nothing but the two operations: their slow paths take locks. */
static void
interrupt(int signal)
{
    (void)signal;
    handled++;
    void *object = stash.ready && stash.count < HELD ? hew_slot_pop(&hew_home.where, code) : NULL;
    if (object != NULL) {
        claim(object);
        release(object);
        if (hew_slot_push(&hew_home.where, code, object) != HEW_PUSH_DONE) {
            stash.objects[stash.count++] = object;
        }
    }
}

/* An object leaves the thread: to its slot, or to where it came from. */
static void
leave(void *object)
{
    release(object);
    if (hew_slot_push(&hew_home.where, code, object) != HEW_PUSH_DONE) {
        hew_magazine_push(hew_home.cache, code, object);
    }
}

static void
put_stash_away(void)
{
    stash.ready = 0;
    while (stash.count > 0) {
        hew_owner_give(code, &stash.objects[--stash.count], 1);
    }
    stash.ready = 1;
}

static void *
work(void *seed)
{
    struct layers_random random = {(uintptr_t)seed * UINT64_C(0x9e3779b97f4a7c15)};
    void *held[HELD];
    unsigned count = 0;
    if (hew_thread_birth(true) == NULL || hew_home.where.base == (char *)&hew_slot_none) {
        wrong++;
        return NULL;
    }
    stash.ready = 1;
    while (!stop || count != 0) {
        if (!stop && count < HELD && layers_random_once_in(&random, 2)) {
            void *object = hew_slot_pop(&hew_home.where, code);
            if (object != NULL) {
                claim(object);
            } else if ((object = fresh()) == NULL) {
                continue;
            }
            held[count++] = object;
        } else if (count != 0) {
            leave(held[--count]);
        }
        put_stash_away();
    }
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    put_stash_away();
    hew_thread_death();
    return NULL;
}

static void
move(pthread_t thread, const cpu_set_t *allowed, unsigned draw)
{
    cpu_set_t one;
    unsigned cpu = draw % CPU_SETSIZE;
    while (!CPU_ISSET(cpu, allowed)) {
        cpu = (cpu + 1) % CPU_SETSIZE;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    wrong += pthread_setaffinity_np(thread, sizeof one, &one) != 0;
}

TEST(threads_that_are_moved_and_interrupted_never_get_one_object_twice_and_lose_none)
{
    TEST_SKIP_IF(!begin(), NO_SLOTS);
    pthread_t threads[THREADS];
    cpu_set_t allowed;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    struct sigaction action = {.sa_handler = interrupt};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    }
    for (unsigned turn = 0; turn < DISTURBANCES; turn++) {
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_kill(threads[i], SIGUSR1);
            if (turn % 8 == i) {
                move(threads[i], &allowed, turn / 8);
            }
        }
        if (turn % 32 == 0) {
            hew_slot_drain(true);
        }
    }
    stop = true;
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK_EQUAL(wrong, 0);
    CHECK(handled != 0);
    CHECK(!hew_slot_drain(true));
    CHECK_EQUAL(hew_slot_held(code), 0);
    CHECK(layers_settled());
}

/* Objects that the calling thread frees into the slot of its CPU; true: some stay there. */
static bool
fill(void)
{
    void *objects[100];
    struct hew_cache *cache = hew_thread_birth(true);
    layers_take_regions(cache->arena, code, objects, 100);
    for (unsigned i = 0; i < 100; i++) {
        hew_magazine_push(cache, code, objects[i]);
    }
    for (unsigned i = 0; i < 100; i++) {
        objects[i] = hew_magazine_pop(cache, code);
        CHECK(objects[i] != NULL);
    }
    for (unsigned i = 0; i < 100; i++) {
        hew_magazine_push(cache, code, objects[i]);
    }
    return hew_slot_held(code) != 0;
}

static void
leave_and_empty(void)
{
    CHECK(fill());
    size_t held = hew_slot_held(code);
    hew_thread_death();
    CHECK_EQUAL(hew_slot_held(code), held); /* the next thread on the CPU finds it */
    CHECK(hew_slot_drain(false));           /* the first pass of the purger only looks */
    CHECK_EQUAL(hew_slot_held(code), held);
    CHECK(!hew_slot_drain(false)); /* a CPU on which no thread allocates ends empty */
    CHECK_EQUAL(hew_slot_held(code), 0);
    CHECK(layers_settled());
}

TEST(a_thread_leaves_what_it_freed_to_its_cpu_and_the_purger_empties_a_slot_without_use)
{
    TEST_SKIP_IF(!begin(), NO_SLOTS);
    CHECK_EQUAL(child_run(leave_and_empty).status, 0);
}

/* From now on the system refuses the barrier, as a program's own filter may. */
static bool
refuse_barriers(void)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof lines / sizeof *lines, lines};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void *
drain(void *left)
{
    *(bool *)left = hew_slot_drain(true);
    return left;
}

static void
without_barriers(void)
{
    pthread_t other;
    bool left = false;
    CHECK(fill());
    CHECK(refuse_barriers());
    size_t held = hew_slot_held(code);
    CHECK(pthread_create(&other, NULL, drain, &left) == 0 && pthread_join(other, NULL) == 0);
    CHECK(left); /* another thread's slot: it cannot */
    CHECK_EQUAL(hew_slot_held(code), held);
    struct hew_cache *cache = hew_cache_self;
    void *objects[3000];
    for (unsigned i = 0; i < 3000; i++) {
        objects[i] = hew_magazine_pop(cache, code);
        CHECK(objects[i] != NULL);
    }
    for (unsigned i = 0; i < 3000; i++) {
        CHECK(hew_magazine_push(cache, code, objects[i]));
    }
    CHECK(hew_slot_held(code) != 0);
}

TEST(where_a_filter_refuses_the_barrier_slots_serve_as_they_are)
{
    TEST_SKIP_IF(!begin(), NO_SLOTS);
    CHECK_EQUAL(child_run(without_barriers).status, 0);
}

static void
abandon(void)
{
    CHECK(fill());
    struct hew_cache *cache = hew_cache_self;
    void *object = hew_magazine_pop(cache, code);
    CHECK(hew_slot_abandon());
    CHECK_EQUAL(hew_slot_held(code), 0);
    CHECK(cache->own == NULL && hew_cache_pop(code) == NULL); /* the next miss gives the thread a slot of its own */
    CHECK(hew_magazine_push(cache, code, object));
    CHECK(cache->own != NULL && hew_slot_depth(cache->own, code) == 1);
    CHECK(hew_cache_pop(code) == object && hew_cache_push(code, object));
    CHECK_EQUAL(hew_slot_held(code), 0);
    hew_thread_death();
    CHECK(layers_settled());
}

TEST(once_a_program_makes_an_arena_every_thread_owns_a_slot)
{
    TEST_SKIP_IF(!begin(), NO_SLOTS);
    CHECK_EQUAL(child_run(abandon).status, 0);
}

static void
second_free(void)
{
    CHECK(fill());
    struct hew_cache *cache = hew_cache_self;
    void *first = hew_magazine_pop(cache, code), *second = hew_magazine_pop(cache, code);
    CHECK(hew_magazine_push(cache, code, first) && hew_magazine_push(cache, code, second));
    CHECK(hew_cache_newest_is(code, second) && !hew_cache_newest_is(code, first));
    CHECK(!hew_magazine_push(cache, code, second));
    CHECK_EQUAL(hew_slot_push(&hew_home.where, code, second), HEW_PUSH_TWICE);
    CHECK(hew_slot_holds(hew_slot_here(&hew_home.where), code, first));
    CHECK(!hew_slot_holds(hew_slot_here(&hew_home.where), code, &second));
}

TEST(a_second_free_of_the_newest_object_is_noticed)
{
    TEST_SKIP_IF(!begin(), NO_SLOTS);
    CHECK_EQUAL(child_run(second_free).status, 0);
}
