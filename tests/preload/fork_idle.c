/* SPDX-License-Identifier: MIT */
/*
 * fork_idle: a forked child gives idle memory back by itself, whatever heap its parent had, and whether it frees what it
 * inherited or what it took.  It has a purger thread as its parent had, and not before it needs one.
 *
 * Each case forks a parent of its own from this small process, and that one a child.  Nothing allocates while a test waits.
 */
#include "under_test.h"
#include "unit/test.h"

#include <spawn.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, SMALL = 4000, LARGE = 100000, OWN_MIB = 64, MOST_MIB = 300, CLOSE_KIB = 8 * 1024 };
enum { WAIT_SECONDS = 60, END_SECONDS = 300, ZYGOTES_CHILDREN = 40, LARGE_PURGER_MIB = 9 };
enum { INHERITED = 1, OWN = 2, BOTH = INHERITED | OWN };

struct load {
    void *objects[MOST_MIB * (MIB / SMALL)];
    unsigned count;
    size_t bytes;
};
static struct load inherited, own;

/* Half of it in small objects, half in large ones. */
static void
load_take(struct load *load, size_t mebibytes)
{
    while (load->bytes < mebibytes * MIB) {
        size_t size = load->bytes < mebibytes * MIB / 2 ? SMALL : LARGE;
        void *object = malloc(size);
        memset(object, 1, size);
        load->objects[load->count++] = object;
        load->bytes += size;
    }
}

static void
load_free(struct load *load)
{
    for (unsigned i = 0; i < load->count; i++) {
        free(load->objects[i]);
    }
    load->count = 0;
    load->bytes = 0;
}

static bool
falls_to(long wanted_kib)
{
    long now = under_test_rss_kib();
    for (unsigned rests = 0; rests < WAIT_SECONDS * 20 && now > wanted_kib; rests++) {
        under_test_sleep_ms(50);
        now = under_test_rss_kib();
    }
    if (now > wanted_kib) {
        printf("%ld KiB are left, wanted are %ld\n", now, wanted_kib);
    }
    return now <= wanted_kib;
}

static bool
threads_become(long wanted)
{
    for (unsigned rests = 0; rests < WAIT_SECONDS * 20 && under_test_threads() != wanted; rests++) {
        under_test_sleep_ms(50);
    }
    return under_test_threads() == wanted;
}

/* Runs `act` in a child; whether it returned true there. */
static bool
in_child(bool (*act)(long argument), long argument)
{
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(END_SECONDS);
        bool right = act(argument);
        fflush(stdout);
        _exit(right ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

/* The child itself: takes, frees, and sleeps. */
static bool
gives_back(long what)
{
    long floor = under_test_rss_kib() - (what & INHERITED ? (long)(inherited.bytes / 1024) : 0);
    if (what & OWN) {
        load_take(&own, OWN_MIB);
    }
    if (what & INHERITED) {
        load_free(&inherited);
    }
    if (what & OWN) {
        load_free(&own);
    }
    return falls_to(floor + CLOSE_KIB);
}

/* One generation more, which stays as it is meanwhile. */
static bool
childs_child_gives_back(long what)
{
    return in_child(gives_back, what);
}

static bool
as_parent(long mebibytes)
{
    bool right = true;
    load_take(&inherited, (size_t)mebibytes);
    if (under_test_strict() && mebibytes >= LARGE_PURGER_MIB) {
        right = threads_become(2);
    }
    for (long what = INHERITED; what <= BOTH; what++) {
        bool child = in_child(gives_back, what), grandchild = in_child(childs_child_gives_back, what);
        printf("parent %ld MiB, case %ld: child %d, grandchild %d\n", mebibytes, what, child, grandchild);
        right = right && child && grandchild;
    }
    return right;
}

TEST(a_child_gives_back_what_it_frees_when_its_parent_was_small)
{
    CHECK(in_child(as_parent, 1));
}

TEST(a_child_gives_back_what_it_frees_when_its_parent_had_a_purger)
{
    CHECK(in_child(as_parent, LARGE_PURGER_MIB));
}

TEST(a_child_gives_back_what_it_frees_when_its_parent_was_large)
{
    CHECK(in_child(as_parent, MOST_MIB));
}

static bool
only_allocates(long unused)
{
    (void)unused;
    load_take(&own, OWN_MIB);
    return !under_test_strict() || threads_become(2);
}

static bool
as_parent_of_one_that_allocates(long unused)
{
    (void)unused;
    load_take(&inherited, LARGE_PURGER_MIB);
    return in_child(only_allocates, 0);
}

TEST(a_child_that_only_allocates_has_a_purger_as_its_heap_grows)
{
    CHECK(in_child(as_parent_of_one_that_allocates, 0));
}

/* Some work, with little of all, and then it waits until it is told to end. */
static void
be_one_of_many(int told, int tells)
{
    char byte = 0;
    for (size_t size = 8; size < SMALL; size += 100) {
        void *object = malloc(under_test_opaque(size));
        free(object);
    }
    byte = (char)under_test_threads();
    if (write(tells, &byte, 1) != 1 || read(told, &byte, 1) != 0) {
        _exit(1);
    }
    _exit(0);
}

static bool
as_zygote(long unused)
{
    (void)unused;
    int told[2], tells[2];
    bool alone = true;
    load_take(&inherited, OWN_MIB);
    if (pipe(told) != 0 || pipe(tells) != 0) {
        return false;
    }
    for (unsigned i = 0; i < ZYGOTES_CHILDREN; i++) {
        if (fork() == 0) {
            alarm(END_SECONDS);
            close(told[1]);
            be_one_of_many(told[0], tells[1]);
        }
    }
    for (unsigned i = 0; i < ZYGOTES_CHILDREN; i++) {
        char threads = 0;
        alone = read(tells[0], &threads, 1) == 1 && threads == 1 && alone;
    }
    close(told[1]);
    for (int status = 0; wait(&status) > 0;) {
        alone = alone && status == 0;
    }
    return alone;
}

TEST(children_that_need_no_purger_have_none)
{
    CHECK(in_child(as_zygote, 0));
}

extern char **environ;

static bool
runs_other_programs(long unused)
{
    (void)unused;
    pid_t spawned;
    int status = -1;
    char *arguments[] = {"true", NULL};
    long floor = under_test_rss_kib() - (long)(inherited.bytes / 1024);
    bool right = posix_spawnp(&spawned, "true", NULL, NULL, arguments, environ) == 0 &&
                 waitpid(spawned, &status, 0) == spawned && status == 0;
    /* In this process's memory, but in another one: no thread may begin there. */
    pid_t other = vfork();
    if (other == 0) {
        load_free(&inherited);
        _exit(0);
    }
    right = waitpid(other, &status, 0) == other && status == 0 && right;
    right = right && (!under_test_strict() || under_test_threads() == 1);
    load_take(&own, OWN_MIB);
    load_free(&own);
    return falls_to(floor + CLOSE_KIB) && right;
}

static bool
as_parent_of_one_that_runs_others(long unused)
{
    (void)unused;
    load_take(&inherited, OWN_MIB);
    return in_child(runs_other_programs, 0);
}

TEST(a_child_that_runs_other_programs_gets_its_purger_afterwards)
{
    CHECK(in_child(as_parent_of_one_that_runs_others, 0));
}
