/* SPDX-License-Identifier: MIT */
/* Unit tests of os/process: limits as they are set, and addresses that lie where they are said to. */
#include "os/process.h"

#include "base/bits.h"
#include "base/size_class.h"
#include "os/memory.h"
#include "test.h"

#include "fakes/child.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)

static void
limited_to_a_gibibyte(void)
{
    const struct rlimit limit = {1024 * MIB, 2048 * MIB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK_EQUAL(hew_os_address_space_limit(), 1024 * MIB);
}

static void
mapped_to_a_gibibyte(void)
{
    const struct rlimit limit = {1024 * MIB, 2048 * MIB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(hew_os_map(1024 * MIB, HEW_PAGE) == NULL);
    CHECK(hew_os_map(64 * MIB, HEW_PAGE) != NULL);
}

TEST(the_address_space_limit_holds_for_mappings)
{
    CHILD_SKIP_IF_SANITIZED();
    CHECK_EQUAL(child_run(mapped_to_a_gibibyte).status, 0);
}

TEST(the_address_space_limit_is_the_soft_one_or_none)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    CHECK_EQUAL(hew_os_address_space_limit(), limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur);
    CHECK_EQUAL(child_run(limited_to_a_gibibyte).status, 0);
}

static void
locked_limit_of_a_page(void)
{
    const struct rlimit limit = {4096, 4096};
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    CHECK_EQUAL(hew_os_locked_limit(), 4096);
}

TEST(the_limit_of_locked_memory_is_the_soft_one_or_none)
{
    struct rlimit limit;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    CHECK_EQUAL(hew_os_locked_limit(), limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur);
    CHECK_EQUAL(child_run(locked_limit_of_a_page).status, 0);
}

TEST(locking_with_flags_that_mean_nothing_is_refused_and_errno_is_kept)
{
    errno = 7;
    CHECK_EQUAL(hew_os_lock_all(0), -EINVAL);
    CHECK_EQUAL(errno, 7);
}

TEST(the_seed_is_one_for_the_whole_life_of_a_process)
{
    CHECK(hew_os_random_seed() != 0);
    CHECK_EQUAL(hew_os_random_seed(), hew_os_random_seed());
}

TEST(the_programs_address_lies_in_the_page_of_its_elf_header)
{
    const char *page = (const char *)hew_bits_round_down(hew_os_program_address(), HEW_PAGE);
    CHECK(memcmp(page, "\177ELF", 4) == 0);
}
