/* SPDX-License-Identifier: MIT */
/* Unit tests of base/bits: logarithms and rounding, each against a loop that cannot be wrong. */
#include "base/bits.h"

#include "test.h"

static unsigned
slow_floor_log2(uint64_t value)
{
    unsigned log = 0;
    while (value >>= 1) {
        log++;
    }
    return log;
}

TEST(the_floor_of_the_logarithm_is_the_highest_bit)
{
    for (uint64_t value = 1; value < 5000; value++) {
        CHECK_EQUAL(hew_bits_floor_log2(value), slow_floor_log2(value));
    }
    CHECK_EQUAL(hew_bits_floor_log2(UINT64_MAX), 63);
    CHECK_EQUAL(hew_bits_floor_log2(UINT64_C(1) << 47), 47);
}

TEST(the_ceiling_of_the_logarithm_is_the_least_power_that_holds_the_value)
{
    for (uint64_t value = 1; value < 5000; value++) {
        unsigned log = hew_bits_ceil_log2(value);
        CHECK((UINT64_C(1) << log) >= value);
        CHECK(log == 0 || (UINT64_C(1) << (log - 1)) < value);
    }
    CHECK_EQUAL(hew_bits_ceil_log2(UINT64_C(1) << 63), 63);
    CHECK_EQUAL(hew_bits_ceil_log2((UINT64_C(1) << 63) + 1), 64);
}

TEST(zero_is_no_power_of_two)
{
    CHECK(!hew_bits_is_power_of_two(0));
    for (unsigned bit = 0; bit < 64; bit++) {
        CHECK(hew_bits_is_power_of_two(UINT64_C(1) << bit));
        CHECK(bit < 1 || !hew_bits_is_power_of_two((UINT64_C(1) << bit) + 1));
        CHECK(bit < 2 || !hew_bits_is_power_of_two((UINT64_C(1) << bit) - 1));
    }
}

TEST(rounding_goes_to_the_nearest_multiple_on_its_side)
{
    for (uintptr_t unit = 1; unit <= 4096; unit *= 2) {
        for (uintptr_t value = 0; value < 9000; value += 7) {
            uintptr_t up = hew_bits_round_up(value, unit), down = hew_bits_round_down(value, unit);
            CHECK(up % unit == 0 && up >= value && up - value < unit);
            CHECK(down % unit == 0 && down <= value && value - down < unit);
        }
    }
}

TEST(rounding_up_beyond_the_range_wraps_to_zero)
{
    CHECK_EQUAL(hew_bits_round_up(UINTPTR_MAX, 4096), 0);
    CHECK_EQUAL(hew_bits_round_up(UINTPTR_MAX - 4095, 4096), UINTPTR_MAX - 4095);
}

TEST(set_bits_are_counted)
{
    CHECK(hew_bits_count(0) == 0 && hew_bits_count(UINT64_MAX) == 64);
    uint64_t value = 1;
    for (unsigned i = 0; i < 10000; i++) {
        value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        unsigned count = 0;
        for (unsigned bit = 0; bit < 64; bit++) {
            count += (unsigned)(value >> bit & 1);
        }
        CHECK_EQUAL(hew_bits_count(value), count);
    }
}
