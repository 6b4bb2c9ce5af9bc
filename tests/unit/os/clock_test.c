/* SPDX-License-Identifier: MIT */
/* Unit tests of os/clock: both clocks tell the same time and never go back. */
#include "os/clock.h"

#include "test.h"

#include <errno.h>
#include <time.h>

TEST(time_never_goes_back)
{
    uint64_t ns = hew_clock_ns(), ms = hew_clock_ms();
    for (unsigned look = 0; look < 10000; look++) {
        uint64_t next_ns = hew_clock_ns(), next_ms = hew_clock_ms();
        CHECK(next_ns >= ns && next_ms >= ms);
        ns = next_ns;
        ms = next_ms;
    }
}

TEST(the_cheap_clock_is_no_more_than_a_tick_behind_the_precise_one)
{
    uint64_t ms = hew_clock_ms(), ns = hew_clock_ns();
    CHECK(ms <= ns / 1000000);
    uint64_t begin = ns / 1000000;
    CHECK(hew_clock_ms() + 20 >= begin);
}

TEST(a_sleep_passes_on_both_clocks)
{
    const struct timespec nap = {0, 30000000};
    uint64_t ns = hew_clock_ns(), ms = hew_clock_ms();
    nanosleep(&nap, NULL);
    CHECK(hew_clock_ns() - ns >= 30000000);
    CHECK(hew_clock_ms() - ms >= 15);
}

TEST(looking_at_the_clock_keeps_errno)
{
    errno = 7;
    hew_clock_ns();
    hew_clock_ms();
    CHECK_EQUAL(errno, 7);
}
