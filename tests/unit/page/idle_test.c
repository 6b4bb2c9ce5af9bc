/* SPDX-License-Identifier: MIT */
/* idle: the fewest bytes that lay idle of late, of two stocks that tell and one that does not. */
#include "page/idle.h"

#include "test.h"

#define PIECES(count) ((count) * HEW_IDLE_PIECE)

static struct hew_stock one, other;

/* As if so much lay there from now on. */
static void
set(struct hew_stock *stock, size_t bytes)
{
    stock->bytes = bytes;
    hew_idle_note(stock);
}

static size_t
least(void)
{
    return atomic_load(&hew_idle_least);
}

/* Periods pass, in which the first stock has from `low` to `high` pieces. */
static void
swing(size_t low, size_t high, unsigned periods)
{
    for (unsigned told = 0; told < periods * HEW_IDLE_PERIOD; told++) {
        set(&one, PIECES(told % 2 == 0 ? low : high));
    }
    set(&one, PIECES(high));
}

static void
begin(void)
{
    one.tells = other.tells = true;
    set(&one, 0);
    set(&other, 0);
    swing(0, 8, 2);
    CHECK_EQUAL(least(), 0);
}

TEST(what_comes_and_goes_is_no_room)
{
    begin();
    swing(0, 100, 3);
    CHECK_EQUAL(least(), 0);
}

TEST(what_has_lain_there_for_a_period_is)
{
    begin();
    swing(30, 50, 3);
    CHECK_EQUAL(least(), PIECES(30));
    swing(40, 50, 3);
    CHECK_EQUAL(least(), PIECES(40));
    set(&one, 0);
}

TEST(what_is_wanted_is_room_no_longer_from_then_on)
{
    begin();
    swing(30, 50, 3);
    set(&one, PIECES(10));
    CHECK_EQUAL(least(), PIECES(10));
    set(&one, PIECES(50));
    CHECK_EQUAL(least(), PIECES(10)); /* for a period at least */
    swing(45, 50, 3);
    CHECK_EQUAL(least(), PIECES(45));
    set(&one, 0);
    CHECK_EQUAL(least(), 0);
}

TEST(stocks_are_summed_and_one_that_does_not_tell_is_left_out)
{
    struct hew_stock silent = {.bytes = 0};
    begin();
    set(&other, PIECES(20));
    set(&silent, PIECES(1000));
    swing(30, 50, 3);
    CHECK_EQUAL(least(), PIECES(50));
    CHECK_EQUAL(silent.told, 0);
    set(&one, 0);
    CHECK_EQUAL(least(), PIECES(20));
    set(&other, 0);
    CHECK_EQUAL(least(), 0);
}

TEST(a_little_more_or_less_is_not_told)
{
    begin();
    set(&one, PIECES(10));
    size_t told = one.told;
    CHECK_EQUAL(told, PIECES(10));
    set(&one, PIECES(12) - 1);
    CHECK_EQUAL(one.told, told);
    set(&one, PIECES(12));
    CHECK_EQUAL(one.told, PIECES(12));
    set(&one, PIECES(12) - 1);
    CHECK_EQUAL(one.told, PIECES(11)); /* never more than there is */
    set(&one, 0);
    CHECK_EQUAL(one.told, 0);
}
