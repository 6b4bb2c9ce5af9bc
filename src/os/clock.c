/* SPDX-License-Identifier: MIT */
#include "os/clock.h"

#include "os/syscall.h"
#include "os/vdso.h"

#include <time.h>

static uint64_t
nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

uint64_t
hew_clock_ns(void)
{
    struct timespec now;
    hew_vdso_time(CLOCK_MONOTONIC, &now);
    return nanoseconds(&now);
}

uint64_t
hew_clock_process_ns(void)
{
    struct timespec now;
    hew_vdso_time(CLOCK_PROCESS_CPUTIME_ID, &now);
    return nanoseconds(&now);
}

uint64_t
hew_clock_thread_ns(void)
{
    struct timespec now;
    hew_vdso_time(CLOCK_THREAD_CPUTIME_ID, &now);
    return nanoseconds(&now);
}

uint64_t
hew_clock_early_ns(void)
{
    struct timespec now = {0};
    hew_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &now);
    return nanoseconds(&now);
}

uint64_t
hew_clock_ms(void)
{
    struct timespec now;
    hew_vdso_time(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

uint64_t
hew_clock_wall_ns(void)
{
    struct timespec now;
    hew_vdso_time(CLOCK_REALTIME, &now);
    return nanoseconds(&now);
}
