/* SPDX-License-Identifier: MIT */
/* Unit tests of page/bound: when a limit of memory refuses, and when it asks for a look. */
#include "page/bound.h"

#include "test.h"

static void
set(ptrdiff_t held, ptrdiff_t look, ptrdiff_t most)
{
    atomic_store(&hew_page_bound.held, held);
    atomic_store(&hew_page_bound.look, look);
    atomic_store(&hew_page_bound.most, most);
    atomic_store(&hew_page_bound.raised, 0);
}

TEST(memory_that_comes_asks_for_a_look_where_it_reaches_the_mark)
{
    set(0, 100, PTRDIFF_MAX);
    hew_page_bound_count(99);
    CHECK_EQUAL(hew_page_bound.raised, 0);
    hew_page_bound_count(1);
    CHECK_EQUAL(hew_page_bound.raised, 1);
    CHECK_EQUAL(hew_page_bound.held, 100);
}

TEST(memory_that_goes_asks_for_none)
{
    set(200, 100, PTRDIFF_MAX);
    hew_page_bound_count(-50);
    hew_page_bound_count(0);
    CHECK(hew_page_bound.raised == 0 && hew_page_bound.held == 150);
}

TEST(a_limit_allows_what_is_left_of_it)
{
    set(400, PTRDIFF_MAX, 1000);
    CHECK(hew_page_bound_allows(600) && !hew_page_bound_allows(601));
    set(1000, PTRDIFF_MAX, 1000);
    CHECK(hew_page_bound_allows(0) && !hew_page_bound_allows(1));
    set(1001, PTRDIFF_MAX, 1000);
    CHECK(!hew_page_bound_allows(0) && !hew_page_bound_allows(SIZE_MAX));
    set(-50, PTRDIFF_MAX, 1000); /* sums of several threads may be behind: no more than the limit all the same */
    CHECK(hew_page_bound_allows(1000) && !hew_page_bound_allows(1001));
    set(1 << 20, PTRDIFF_MAX, PTRDIFF_MAX);
    CHECK(hew_page_bound_allows(SIZE_MAX));
}
