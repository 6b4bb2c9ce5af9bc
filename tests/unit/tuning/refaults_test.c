/* SPDX-License-Identifier: MIT */
#include "tuning/refaults.h"

#include "test.h"

TEST(what_is_wanted_again_soon_is_told_from_what_is_wanted_late)
{
    struct hew_refaults refaults = {0};
    hew_refaults_returned(&refaults, 1000, 500);
    CHECK_EQUAL(hew_refaults_taken(&refaults, 1500, 200, 400).soon, 0);
    CHECK_EQUAL(hew_refaults_taken(&refaults, 1500, 200, 500).soon, 200);
}

TEST(no_byte_is_wanted_twice)
{
    struct hew_refaults refaults = {0};
    hew_refaults_returned(&refaults, 1000, 500);
    CHECK_EQUAL(hew_refaults_taken(&refaults, 1001, 400, 100).soon, 400);
    CHECK_EQUAL(hew_refaults_taken(&refaults, 1002, 400, 100).soon, 100);
    CHECK_EQUAL(hew_refaults_taken(&refaults, 1003, 400, 100).soon, 0);
}

TEST(the_newest_returns_are_wanted_first)
{
    struct hew_refaults refaults = {0};
    hew_refaults_returned(&refaults, 1000, 500);
    hew_refaults_returned(&refaults, 2000, 300);
    CHECK_EQUAL(hew_refaults_taken(&refaults, 2100, 400, 200).soon, 300);
    CHECK_EQUAL(hew_refaults_taken(&refaults, 2200, 400, 1200).soon, 400);
}

TEST(what_was_never_returned_is_not_wanted_again)
{
    struct hew_refaults refaults = {0};
    CHECK_EQUAL(hew_refaults_taken(&refaults, 10, 1000000, 1000).soon, 0);
}

TEST(older_returns_than_the_ring_holds_are_forgotten)
{
    struct hew_refaults refaults = {0};
    for (unsigned i = 0; i < HEW_REFAULTS_ENTRIES + 10; i++) {
        hew_refaults_returned(&refaults, i, 1);
    }
    CHECK_EQUAL(hew_refaults_taken(&refaults, 1000, 1000, 2000).soon, HEW_REFAULTS_ENTRIES);
}
