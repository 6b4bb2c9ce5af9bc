/* SPDX-License-Identifier: MIT */
/* Unit tests of os/vdso: what it tells is what libc tells. */
#include "os/vdso.h"

#include "test.h"

#include <errno.h>
#include <unistd.h>

static int
order(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? (one->tv_sec < other->tv_sec ? -1 : 1)
                                        : (one->tv_nsec > other->tv_nsec) - (one->tv_nsec < other->tv_nsec);
}

TEST(each_clock_is_libcs)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE,
                                       CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    for (unsigned i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        struct timespec before, between, after;
        clock_gettime(clocks[i], &before);
        hew_vdso_time(clocks[i], &between);
        clock_gettime(clocks[i], &after);
        CHECK(order(&before, &between) <= 0 && order(&between, &after) <= 0);
    }
}

TEST(the_processor_is_one_that_the_machine_has)
{
    for (unsigned look = 0; look < 1000; look++) {
        CHECK(hew_vdso_processor() < (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    }
}

TEST(errno_stays)
{
    struct timespec time;
    errno = 17;
    hew_vdso_time((clockid_t)12345, &time); /* no clock: the answer is 0 */
    hew_vdso_processor();
    CHECK(errno == 17 && time.tv_sec == 0 && time.tv_nsec == 0);
}
