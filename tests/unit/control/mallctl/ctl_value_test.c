/* SPDX-License-Identifier: MIT */
#include "control/mallctl/ctl_value.h"

#include "test.h"

#include <errno.h>

static struct hew_ctl_call
reading(void *old, size_t *length)
{
    return (struct hew_ctl_call){.old = old, .old_length = length};
}

TEST(a_read_of_the_right_length_gives_the_value)
{
    uint64_t old = 0;
    size_t length = sizeof old;
    struct hew_ctl_call call = reading(&old, &length);
    CHECK_EQUAL(hew_ctl_read_uint64(&call, 0x1122334455667788), 0);
    CHECK_EQUAL(old, 0x1122334455667788);
    CHECK_EQUAL(length, 8);
}

TEST(a_read_of_another_length_gives_what_fits_and_its_length_and_is_EINVAL)
{
    for (size_t given = 0; given <= 16; given++) {
        unsigned char old[16], whole[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        size_t length = given, fits = given < 8 ? given : 8;
        memset(old, 0xee, sizeof old);
        struct hew_ctl_call call = reading(old, &length);
        CHECK_EQUAL(hew_ctl_read(&call, whole, 8), given == 8 ? 0 : EINVAL);
        CHECK_EQUAL(length, fits);
        CHECK(memcmp(old, whole, fits) == 0);
        CHECK(fits == 16 || old[fits] == 0xee);
    }
}

TEST(nobody_reads_nobody_writes_no_error)
{
    struct hew_ctl_call call = {.new_length = 77};
    unsigned value = 5;
    CHECK_EQUAL(hew_ctl_exchange(&call, &value, &value, sizeof value), 0);
    CHECK_EQUAL(value, 5);
    CHECK_EQUAL(hew_ctl_must_write(&call, &value, sizeof value), EINVAL);
}

TEST(a_write_of_another_length_is_EINVAL_and_reads_nothing_either)
{
    uint32_t old = 1, new = 2, value = 3;
    size_t length = sizeof old;
    struct hew_ctl_call call = {.old = &old, .old_length = &length, .new = &new, .new_length = 3};
    CHECK_EQUAL(hew_ctl_exchange(&call, &value, &value, sizeof value), EINVAL);
    CHECK(old == 1 && value == 3);
}

TEST(one_buffer_may_serve_for_what_was_and_what_is_to_be)
{
    uint32_t both = 2, before = 3, after = 0;
    size_t length = sizeof both;
    struct hew_ctl_call call = {.old = &both, .old_length = &length, .new = &both, .new_length = sizeof both};
    CHECK_EQUAL(hew_ctl_exchange(&call, &before, &after, sizeof before), 0);
    CHECK(both == 3 && after == 2);
}

TEST(any_byte_but_zero_is_true)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char new = (unsigned char)byte;
        bool value = byte % 2 == 0;
        struct hew_ctl_call call = {.new = &new, .new_length = 1};
        CHECK_EQUAL(hew_ctl_exchange_bool(&call, &value), 0);
        CHECK_EQUAL(value, byte != 0);
    }
}

TEST(what_makes_something_is_refused_unless_its_number_can_be_taken)
{
    uint32_t old = 7;
    size_t length = sizeof old, wide = 8;
    struct hew_ctl_call right = reading(&old, &length), wrong = reading(&old, &wide), no_place = reading(NULL, &length);
    CHECK_EQUAL(hew_ctl_must_read(&right, sizeof old), 0);
    CHECK_EQUAL(length, sizeof old);
    CHECK_EQUAL(hew_ctl_must_read(&wrong, sizeof old), EINVAL);
    CHECK_EQUAL(wide, 0);
    CHECK_EQUAL(hew_ctl_must_read(&no_place, sizeof old), EINVAL);
    CHECK_EQUAL(length, 0);
    struct hew_ctl_call nothing = reading(NULL, NULL);
    CHECK_EQUAL(hew_ctl_must_read(&nothing, sizeof old), EINVAL);
    CHECK_EQUAL(old, 7);
}
