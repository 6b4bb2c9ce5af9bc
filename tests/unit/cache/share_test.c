/* SPDX-License-Identifier: MIT */
/*
 * share: trials of one thread, whose clock is a model: an operation takes OPERATION_NS, and each miss what the test says.  So room
 * pays, or does not, as the test wants it.
 */
#include "one_thread.h"

#include "base/steps.h"
#include "cache/kept.h"
#include "cache/share.h"
#include "page/bound.h"

#include <time.h>

#define OPERATION_NS 5u

static uint64_t miss_ns = 500, work_ns, misses_seen, readings, pauses;
static uint16_t misses_before;
static bool with_pauses;

/* In place of libc's: what the thread has done until now has taken so long. */
int
clock_gettime(clockid_t clock, struct timespec *time)
{
    const struct hew_cache *cache = hew_cache_self;
    uint64_t now = 1000000;
    if (hew_cache_is_real(cache)) {
        misses_seen += (uint16_t)(cache->misses - misses_before);
        misses_before = cache->misses;
        HEW_EACH_TOUCHED(cache, code)
        {
            now += (hew_cache_requests(cache, code) + hew_cache_frees(cache, code)) * (OPERATION_NS + work_ns);
        }
        readings++;
        pauses += with_pauses && readings % 7 == 0;
    }
    now += misses_seen * miss_ns + pauses * 5000000;
    CHECK(clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE); /* others take a system call */
    time->tv_sec = (time_t)(now / 1000000000);
    time->tv_nsec = (long)(now % 1000000000);
    return 0;
}

/* The last one that was told; its outcome is not one of those there are while none was. */
static struct hew_step
last_step(void)
{
    struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT];
    unsigned count = hew_steps_read(steps);
    return count == 0 ? (struct hew_step){.outcome = HEW_STEP_OUTCOMES} : steps[count - 1];
}

static struct hew_cache *
begin(int tuning)
{
    struct hew_cache *cache = new_cache();
    hew_options.tuning = tuning;
    hew_options.tuning_memory = 100; /* else so small a heap has nothing to lend */
    miss_ns = 500;
    work_ns = 0;
    with_pauses = false;
    misses_before = cache->misses;
    hew_steps_forget();
    CHECK_EQUAL(hew_share_counts.lent, 0);
    hew_share_counts.trials = hew_share_counts.kept = hew_share_counts.refused = 0;
    return cache;
}

static void
end(void)
{
    end_cache();
    CHECK_EQUAL(hew_share_counts.lent, 0);
    hew_options.tuning = HEW_TUNING_OFF;
    hew_options.tuning_memory = 0;
}

/* Bursts of four classes that take a megabyte together, twice what a thread may hold. */
static void
bursts(struct hew_cache *cache, unsigned count)
{
    static const unsigned sizes[] = {512, 768, 1024, 2048};
    for (unsigned burst = 0; burst < count; burst++) {
        unsigned taken = 0, began[5] = {0};
        for (unsigned at = 0; at < 4; at++) {
            unsigned code = hew_code_of_size(sizes[at]);
            for (unsigned bytes = 0; bytes < (240u << 10); bytes += sizes[at]) {
                objects[taken++] = take(cache, code);
            }
            began[at + 1] = taken;
        }
        for (unsigned at = 0; at < 4; at++) {
            for (unsigned object = began[at]; object < began[at + 1]; object++) {
                give(cache, hew_code_of_size(sizes[at]), objects[object]);
            }
        }
    }
}

/* The reserve is `bytes` or a little more. */
static void
set_reserve(size_t bytes)
{
    CHECK(hew_page_mapped >= 100);
    hew_options.tuning_memory = 0;
    hew_options.tuning_memory = (bytes - hew_budget_reserve()) / (hew_page_mapped / 100) + 1;
}

TEST(a_thread_that_misses_often_for_want_of_room_borrows_it_and_keeps_it_if_that_pays)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    size_t usual = hew_budget_share();
    bursts(cache, 1);
    set_reserve(4 * usual);
    bursts(cache, 400);
    CHECK(hew_share_counts.kept >= 1);
    struct hew_step step = last_step();
    CHECK(step.lever == HEW_STEP_CACHE_ROOM && step.outcome == HEW_STEP_KEPT && step.after > step.before);
    CHECK(step.before >= 100 && step.reason_after < step.reason_before && step.effect_after < step.effect_before);
    CHECK(cache->extra >= usual && cache->share == hew_budget_share() + cache->extra);
    CHECK_EQUAL(hew_share_counts.lent, cache->extra);
    CHECK(cache->granted > usual && cache->granted == full_bytes(cache));
    uint16_t before = cache->misses;
    bursts(cache, 10);
    CHECK((uint16_t)(cache->misses - before) < 10); /* all of it fits now */
    end();
}

TEST(the_reserve_is_a_part_of_the_heap_and_something_for_each_thread)
{
    begin(HEW_TUNING_ON);
    hew_options.tuning_memory = 0;
    size_t one = hew_budget_reserve();
    CHECK_EQUAL(one, hew_page_mapped / 32 + (48u << 10));
    hew_caches_alive += 10;
    CHECK_EQUAL(hew_budget_reserve(), one + (480u << 10));
    hew_caches_alive -= 10;
    end();
}

TEST(one_thread_borrows_a_third_of_the_reserve_though_that_is_less_than_its_share)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    set_reserve((size_t)600 << 10);
    size_t third = hew_budget_reserve() / 3;
    CHECK(third < hew_budget_share());
    bursts(cache, 400);
    CHECK(hew_share_counts.kept >= 1 && cache->extra == third);
    bursts(cache, 400);
    CHECK_EQUAL(cache->extra, third);
    end();
}

TEST(what_others_have_left_of_the_reserve_is_lent_though_it_is_less_than_a_third)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    set_reserve((size_t)600 << 10);
    size_t left = (size_t)100 << 10, others = hew_budget_reserve() - left;
    hew_share_counts.lent = others;
    bursts(cache, 400);
    CHECK(hew_share_counts.kept >= 1 && cache->extra == left);
    hew_share_counts.lent -= others;
    end();
}

TEST(pauses_of_the_thread_do_not_hide_what_room_is_worth)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    with_pauses = true;
    bursts(cache, 1000);
    CHECK(pauses > 10);
    CHECK(hew_share_counts.kept >= 1 && cache->extra != 0);
    end();
}

TEST(what_does_not_pay_goes_back_and_is_tried_ever_less_often)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    miss_ns = 0;
    unsigned most = 0;
    for (unsigned round = 0; round < 3000; round++) {
        bursts(cache, 1);
        most = cache->extra > most ? (unsigned)cache->extra : most;
    }
    CHECK(most != 0 && hew_share_counts.kept == 0);
    CHECK(hew_share_counts.refused >= 3 && hew_share_counts.trials <= 10);
    CHECK(last_step().outcome == HEW_STEP_UNDONE && last_step().before == 100 && last_step().effect_after != 0);
    CHECK_EQUAL(cache->trial.rest, 1u << hew_share_counts.refused);
    CHECK(cache->trial.state == HEW_SHARE_RESTS && cache->extra == 0 && hew_share_counts.lent == 0);
    end();
}

TEST(after_the_longest_rest_there_is_a_trial_again)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    miss_ns = 0;
    cache->trial.rest = 4096;
    for (unsigned round = 0; round < 200 && cache->trial.windows < 4000; round++) {
        bursts(cache, 1);
        cache->trial.windows += cache->trial.windows < 4000 ? 100 : 0;
    }
    CHECK_EQUAL(hew_share_counts.trials, 0);
    bursts(cache, 3000);
    CHECK(hew_share_counts.trials >= 1 && cache->trial.rest == 4096);
    end();
}

TEST(without_tuning_nothing_is_measured_and_observing_lends_nothing)
{
    struct hew_cache *cache = begin(HEW_TUNING_OFF);
    bursts(cache, 200);
    CHECK(hew_share_counts.trials == 0 && !hew_share_is_at_work(cache));
    end();
    cache = begin(HEW_TUNING_OBSERVE);
    for (unsigned round = 0; round < 200; round++) {
        bursts(cache, 1);
        CHECK(cache->extra == 0 && hew_share_counts.lent == 0);
    }
    CHECK(hew_share_counts.trials >= 1 && hew_share_counts.kept == 0 && hew_share_counts.refused == 0);
    CHECK(last_step().outcome == HEW_STEP_THOUGHT && last_step().after > last_step().before);
    end();
}

TEST(who_misses_seldom_does_not_borrow)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    work_ns = 3000;
    bursts(cache, 200);
    CHECK(hew_share_counts.trials == 0);
    end();
}

TEST(all_that_is_lent_stays_within_the_reserve_and_one_threads_part_within_a_bound)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    size_t others = hew_budget_reserve() - ((size_t)64 << 10) + 1; /* what is left is not worth a trial */
    hew_share_counts.lent = others;
    bursts(cache, 200);
    CHECK(hew_share_counts.trials == 0 && cache->extra == 0 && hew_share_counts.lent == others);
    hew_share_counts.lent = 0;
    cache->extra = HEW_SHARE_MOST - 1000;
    hew_share_counts.lent = cache->extra;
    cache->trial.rest = 2;
    cache->trial.before_ns = 0;
    cache->trial.state = HEW_SHARE_WATCHES;
    bursts(cache, 20);
    CHECK(cache->extra <= HEW_SHARE_MOST - 1000);
    end();
}

TEST(what_lies_idle_goes_back)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    bursts(cache, 400);
    CHECK(cache->extra != 0);
    work(cache, CODE, 4000, 100);
    CHECK(cache->extra == 0 && hew_share_counts.lent == 0);
    CHECK_EQUAL(cache->share, hew_budget_share());
    end();
}

TEST(near_a_limit_of_memory_all_goes_back_and_nobody_borrows)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    bursts(cache, 400);
    CHECK(cache->extra != 0);
    size_t usual = hew_budget_reserve();
    atomic_store(&hew_page_bound.known, true);
    atomic_store(&hew_page_bound.look, 0);
    atomic_store(&hew_page_bound.caches, (size_t)4 << 20);
    CHECK_EQUAL(hew_budget_reserve(), (size_t)256 << 10);
    CHECK(usual > (size_t)256 << 10);
    work(cache, hew_code_of_size(4096), 20, 200);
    CHECK(cache->extra == 0 && hew_share_counts.lent == 0);
    uint64_t trials = hew_share_counts.trials;
    bursts(cache, 100);
    CHECK_EQUAL(hew_share_counts.trials, trials);
    atomic_store(&hew_page_bound.known, false);
    atomic_store(&hew_page_bound.look, PTRDIFF_MAX);
    atomic_store(&hew_page_bound.caches, SIZE_MAX);
    end();
}

TEST(a_flush_and_a_threads_end_give_back_and_so_does_a_cache_that_is_kept)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    bursts(cache, 400);
    CHECK(cache->extra != 0);
    hew_magazine_drop_all(cache);
    CHECK(cache->extra == 0 && hew_share_counts.lent == 0);
    bursts(cache, 400);
    CHECK(cache->extra != 0);
    hew_thread_leave();
    CHECK_EQUAL(hew_share_counts.lent, 0);
    hew_kept_empty();
    CHECK(layers_settled());
    cache = new_cache();
    bursts(cache, 400);
    CHECK(hew_share_counts.lent != 0);
    end();
}

TEST(a_trial_that_ends_before_it_is_judged_is_refused)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    for (unsigned round = 0; round < 400 && cache->trial.state != HEW_SHARE_JUDGES; round++) {
        bursts(cache, 1);
    }
    CHECK_EQUAL(cache->trial.state, HEW_SHARE_JUDGES);
    hew_share_end(cache);
    CHECK(hew_share_counts.kept == 0 && hew_share_counts.refused == 1 && cache->extra == 0);
    end();
}

TEST(in_a_forks_child_only_its_own_cache_owes)
{
    struct hew_cache *cache = begin(HEW_TUNING_ON);
    bursts(cache, 400);
    CHECK(cache->extra != 0);
    atomic_fetch_add(&hew_share_counts.lent, 12345);
    hew_thread_after_fork();
    CHECK_EQUAL(hew_share_counts.lent, cache->extra);
    CHECK(hew_share_counts.trials == 0 && hew_share_counts.kept == 0 && hew_share_counts.refused == 0);
    end();
}
