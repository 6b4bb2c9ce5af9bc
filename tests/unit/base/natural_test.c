/* SPDX-License-Identifier: MIT */
#include "base/natural.h"
#include "test.h"

static bool
near(double left, double right)
{
    double difference = left > right ? left - right : right - left;
    double size = right < 0 ? -right : right;
    return difference <= 5e-14 * (size > 1e-300 ? size : 1e-300);
}

TEST(the_logarithm_is_right_across_the_range)
{
    CHECK(hew_natural_log(1) == 0);
    CHECK(near(hew_natural_log(2), 0.69314718055994530942));
    CHECK(near(hew_natural_log(10), 2.30258509299404568402));
    CHECK(near(hew_natural_log(1.4999999), 0.40546504144149779));
    CHECK(near(hew_natural_log(1.5), 0.40546510810816438198));
    CHECK(near(hew_natural_log(0x1p-53), -36.736800569677101399));
}

TEST(the_chance_is_right_for_small_and_large_lengths)
{
    CHECK(hew_natural_chance(0) == 0);
    CHECK(near(hew_natural_chance(1e-9), 9.999999995e-10));
    CHECK(near(hew_natural_chance(0.5), 0.39346934028736657640));
    CHECK(near(hew_natural_chance(1), 0.63212055882855767840));
    CHECK(near(hew_natural_chance(10), 0.99995460007023751515));
    CHECK(hew_natural_chance(1e300) == 1);
}
