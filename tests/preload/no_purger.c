/* SPDX-License-Identifier: MIT */
/*
 * no_purger: memory of a peak goes back though the process has no purger thread, as long as the program calls malloc at all.
 *
 *     no_purger forbidden     as the test's settings say: background_thread:false
 *     no_purger privileges    the program forbids itself new privileges, as a program does that installs a filter
 *     no_purger threads       a limit of the system allows the process no second thread
 *
 * The work after the peak is small and steady: caches serve nearly all of it, and no extent changes hands.
 * 77: what the case needs is not allowed here.
 */
#include "under_test.h"

#include <grp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { PEAK_OBJECTS = 50000, PEAK_SIZE = 4000, OBJECTS = 2000, WAIT_SECONDS = 60, CLOSE_KIB = 12 * 1024, SKIPPED = 77 };

static void *
do_nothing(void *unused)
{
    return unused;
}

/* False: this user is not bound by a limit of threads. */
static bool
forbid_threads(void)
{
    struct rlimit none = {0, 0};
    pthread_t thread;
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) {
        return false;
    }
    if (setrlimit(RLIMIT_NPROC, &none) != 0) {
        return false;
    }
    bool refused = pthread_create(&thread, NULL, do_nothing, NULL) != 0;
    if (!refused) {
        pthread_join(thread, NULL);
    }
    return refused;
}

static void
make_peak(void)
{
    static void *objects[PEAK_OBJECTS];
    for (unsigned i = 0; i < PEAK_OBJECTS; i++) {
        objects[i] = malloc(PEAK_SIZE);
        memset(objects[i], 1, PEAK_SIZE);
    }
    for (unsigned i = 0; i < PEAK_OBJECTS; i++) {
        free(objects[i]);
    }
}

static void
work_a_little(void)
{
    static void *objects[OBJECTS];
    static uint64_t random;
    for (unsigned step = 0; step < OBJECTS; step++) {
        unsigned which = (unsigned)(under_test_random(&random) % OBJECTS);
        free(objects[which]);
        objects[which] = malloc(16 + under_test_random(&random) % 1500);
    }
}

int
main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "privileges") == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return SKIPPED;
    }
    if (strcmp(way, "threads") == 0 && !forbid_threads()) {
        return SKIPPED;
    }
    work_a_little();
    long floor = under_test_rss_kib();
    make_peak();
    long peak = under_test_rss_kib(), now = peak;
    for (unsigned rests = 0; rests < WAIT_SECONDS * 50 && now > floor + CLOSE_KIB; rests++) {
        work_a_little();
        under_test_sleep_ms(20);
        now = under_test_rss_kib();
    }
    long threads = under_test_threads();
    printf("RSS in KiB: floor %ld, after the peak %ld, in the end %ld; threads %ld\n", floor, peak, now, threads);
    return now <= floor + CLOSE_KIB && threads == 1 ? 0 : 1;
}
