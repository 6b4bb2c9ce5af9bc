/* SPDX-License-Identifier: MIT */
/* Unit tests of base/compiler: what is written for one CPU does what the plain C beside it says. */
#include "base/compiler.h"

#include "test.h"

TEST(counting_down_tells_when_zero_is_reached_and_wraps_below_it)
{
    uint32_t counters[3] = {7, 2, 7};
    CHECK(!hew_count_down(&counters[1]));
    CHECK(hew_count_down(&counters[1]));
    CHECK(!hew_count_down(&counters[1]));
    CHECK_EQUAL(counters[1], UINT32_MAX);
    CHECK(counters[0] == 7 && counters[2] == 7);
}

TEST(a_member_leads_to_what_contains_it)
{
    struct {
        int before;
        long member;
    } whole;
    CHECK(HEW_CONTAINER(&whole.member, __typeof__(whole), member) == &whole);
}
