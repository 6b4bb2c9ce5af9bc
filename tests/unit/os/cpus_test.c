/* SPDX-License-Identifier: MIT */
/* Unit tests of os/cpus: every form of a quota, and the affinity mask of this process. */
#include "os/cpus.h"

#include "test.h"

#include "fakes/child.h"

#include <errno.h>
#include <sched.h>

TEST(a_quota_rounds_up_to_whole_cpus)
{
    CHECK_EQUAL(hew_cpus_parse_quota("100000 100000\n"), 1);
    CHECK_EQUAL(hew_cpus_parse_quota("150000 100000\n"), 2);
    CHECK_EQUAL(hew_cpus_parse_quota("200000 100000"), 2);
    CHECK_EQUAL(hew_cpus_parse_quota("200001 100000"), 3);
    CHECK_EQUAL(hew_cpus_parse_quota("1000 100000"), 1);
    CHECK_EQUAL(hew_cpus_parse_quota("6400000 50000\n"), 128);
}

TEST(no_quota_is_zero)
{
    CHECK_EQUAL(hew_cpus_parse_quota("max 100000\n"), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("-1 100000\n"), 0); /* version 1's word for max */
}

TEST(a_text_that_is_no_quota_is_none)
{
    CHECK_EQUAL(hew_cpus_parse_quota(""), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("\n"), 0);
    CHECK_EQUAL(hew_cpus_parse_quota(" "), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("100000"), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("100000\n"), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("100000 "), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("100000 max"), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("100000 0"), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("0 100000"), 0);
    CHECK_EQUAL(hew_cpus_parse_quota("1x 100000"), 0);
}

static unsigned
allowed_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 0;
}

TEST(this_process_may_use_at_least_one_cpu_and_no_more_than_its_mask_allows)
{
    errno = 7;
    unsigned usable = hew_cpus_usable();
    CHECK_EQUAL(errno, 7);
    CHECK(usable >= 1);
    CHECK(usable <= allowed_cpus());
}

static void
bound_to_one_cpu(void)
{
    cpu_set_t set, one;
    int cpu = 0;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    while (!CPU_ISSET(cpu, &set)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK_EQUAL(hew_cpus_usable(), 1);
}

TEST(a_process_bound_to_one_cpu_uses_one)
{
    CHECK_EQUAL(child_run(bound_to_one_cpu).status, 0);
}

static void
without_files(void)
{
    const struct rlimit none = {0, 0};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK_EQUAL(hew_cpus_usable(), allowed_cpus());
}

TEST(without_readable_files_the_mask_alone_counts)
{
    CHECK_EQUAL(child_run(without_files).status, 0);
}

TEST(the_highest_number_of_a_list_of_cpus_counts)
{
    CHECK_EQUAL(hew_cpus_parse_list("0\n"), 1);
    CHECK_EQUAL(hew_cpus_parse_list("0-1\n"), 2);
    CHECK_EQUAL(hew_cpus_parse_list("0-3,8-11\n"), 12);
    CHECK_EQUAL(hew_cpus_parse_list("0,2"), 3);
    CHECK_EQUAL(hew_cpus_parse_list(""), 0);
    CHECK_EQUAL(hew_cpus_parse_list("0-\n"), 0);
    CHECK_EQUAL(hew_cpus_parse_list("none\n"), 0);
    CHECK(hew_cpus_possible() >= 1);
}
