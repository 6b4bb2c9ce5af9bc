/* SPDX-License-Identifier: MIT */
#include "cache/explicit.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "test.h"

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        CHECK(layers_boot());
    }
}

TEST(a_cache_is_made_flushed_and_destroyed_and_its_number_used_again)
{
    boot_once();
    unsigned first = 77, second = 77;
    CHECK_EQUAL(ctl_read("tcache.create", &first, sizeof first), 0);
    CHECK(hew_explicit_at(first) != NULL);
    CHECK_EQUAL(ctl_write("tcache.flush", &first, sizeof first), 0);
    CHECK_EQUAL(ctl_write("tcache.destroy", &first, sizeof first), 0);
    CHECK(hew_explicit_at(first) == NULL);
    CHECK_EQUAL(ctl_read("tcache.create", &second, sizeof second), 0);
    CHECK_EQUAL(first, second);
    CHECK_EQUAL(ctl_write("tcache.destroy", &second, sizeof second), 0);
}

TEST(no_cache_is_made_that_nobody_would_know_of)
{
    boot_once();
    uint64_t wide = 0;
    size_t length = sizeof wide;
    CHECK_EQUAL(hew_ctl_by_name("tcache.create", &wide, &length, NULL, 0), EINVAL);
    CHECK_EQUAL(length, 0);
    CHECK_EQUAL(ctl_do("tcache.create"), EINVAL);
    CHECK(hew_explicit_at(0) == NULL);
}

TEST(numbers_of_no_cache_are_EFAULT)
{
    boot_once();
    static const unsigned numbers[] = {0, 1, 4093, 4094, 4095, 99999, 0xffffffff};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK_EQUAL(ctl_write("tcache.flush", &numbers[i], sizeof numbers[i]), EFAULT);
        CHECK_EQUAL(ctl_write("tcache.destroy", &numbers[i], sizeof numbers[i]), EFAULT);
    }
    CHECK_EQUAL(ctl_write("tcache.flush", &numbers[0], 8), EINVAL);
    CHECK_EQUAL(ctl_do("tcache.destroy"), EINVAL);
}
