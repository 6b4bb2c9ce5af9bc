/* SPDX-License-Identifier: MIT */
/* Unit tests of os/clock: both clocks tell the same time and never go back. */
#include "os/clock.h"

#include "test.h"

#include <errno.h>
#include <time.h>

#define NAP_NS 30000000

static void
nap(void)
{
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

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

/* A virtual machine that gets no processor has no ticks meanwhile: not every look finds the clocks close together. */
TEST(the_cheap_clock_is_no_more_than_a_tick_behind_the_precise_one)
{
    uint64_t behind = UINT64_MAX;
    for (unsigned look = 0; look < 1000 && behind > 20; look++) {
        uint64_t ms = hew_clock_ms(), precise = hew_clock_ns() / 1000000, later = hew_clock_ms();
        CHECK(ms <= precise);
        behind = later < precise ? precise - later : 0;
        nap();
    }
    CHECK(behind <= 20);
}

TEST(a_sleep_passes_on_both_clocks)
{
    uint64_t ns = hew_clock_ns(), ms = hew_clock_ms();
    nap();
    CHECK(hew_clock_ns() - ns >= NAP_NS);
    for (unsigned more = 0; more < 1000 && hew_clock_ms() - ms < 15; more++) {
        nap();
    }
    CHECK(hew_clock_ms() - ms >= 15);
}

TEST(looking_at_the_clock_keeps_errno)
{
    errno = 7;
    hew_clock_ns();
    hew_clock_ms();
    CHECK_EQUAL(errno, 7);
}
