/* SPDX-License-Identifier: MIT */
#include "prof/cfi.h"

#include "os/object.h"
#include "test.h"

static int
function(int value)
{
    return value + 1;
}

TEST(a_rule_is_found_for_every_address_of_a_function_and_the_return_address_is_in_it)
{
    struct hew_os_object object;
    struct hew_cfi_rule rule;
    int (*volatile here)(int) = function;
    CHECK(hew_os_find_object((uintptr_t)here, &object));
    CHECK(hew_cfi_find(object.unwind_index, (uintptr_t)here, &rule));
    CHECK_EQUAL(rule.base, HEW_CFI_STACK);
    CHECK(!rule.signal && !rule.indirect && rule.by_frame == 0);
    CHECK(rule.saved[HEW_KEPT_RETURN] != HEW_CFI_LOST);
    CHECK(rule.saved[HEW_KEPT_FRAME] == HEW_CFI_SAME);
}

TEST(addresses_outside_every_function_have_no_rule)
{
    struct hew_os_object object;
    struct hew_cfi_rule rule;
    CHECK(hew_os_find_object((uintptr_t)function, &object));
    CHECK(!hew_cfi_find(object.unwind_index, object.begin, &rule));
    CHECK(!hew_cfi_find(object.unwind_index, object.end - 1, &rule));
}
