/* SPDX-License-Identifier: MIT */
#include "tuning/window.h"

#include "test.h"

#define FIELD(name) {#name, offsetof(struct hew_tuning_counters, name)}

/* Counts that programs can reset, or that go with their arena. */
static const struct field {
    char name[16];
    size_t offset;
} fields[] = {
    FIELD(batches), FIELD(refusals), FIELD(fills),  FIELD(flushes),  FIELD(filled),
    FIELD(flushed), FIELD(spins),    FIELD(sleeps), FIELD(returned), FIELD(taken),
};

static uint64_t *
at(struct hew_tuning_counters *counters, const struct field *field)
{
    return (uint64_t *)((char *)counters + field->offset);
}

TEST(a_count_that_has_fallen_is_told_whichever_it_is_and_reads_as_none)
{
    for (unsigned index = 0; index < sizeof fields / sizeof fields[0]; index++) {
        struct hew_tuning_counters before = {0}, now = {0};
        *at(&before, &fields[index]) = 10;
        *at(&now, &fields[index]) = 9;
        struct hew_tuning_counters window = hew_tuning_since(&before, &now);
        CHECK(window.has_fallen && *at(&window, &fields[index]) == 0);
        *at(&now, &fields[index]) = 12;
        window = hew_tuning_since(&before, &now);
        CHECK(!window.has_fallen && *at(&window, &fields[index]) == 2);
        *at(&now, &fields[index]) = 10;
        window = hew_tuning_since(&before, &now);
        CHECK(!window.has_fallen && *at(&window, &fields[index]) == 0);
    }
}

TEST(what_heaps_and_the_program_hold_is_that_of_now_and_may_fall)
{
    struct hew_tuning_counters before = {.held = 10, .live = 5}, now = {.held = 7, .live = 4};
    struct hew_tuning_counters window = hew_tuning_since(&before, &now);
    CHECK(!window.has_fallen && window.held == 7 && window.live == 4);
}

TEST(time_that_goes_back_is_none)
{
    struct hew_tuning_counters before = {.at_ms = 10, .cpu_ns = 10}, now = {.at_ms = 9, .cpu_ns = 9};
    struct hew_tuning_counters window = hew_tuning_since(&before, &now);
    CHECK(window.at_ms == 0 && window.cpu_ns == 0);
}

TEST(what_is_lost_is_the_sum_of_what_each_part_costs)
{
    struct hew_tuning_counters none = {0}, all = {0};
    uint64_t sum = 0;
    CHECK_EQUAL(hew_tuning_lost_to_batches(&none), 0);
    for (unsigned index = 0; index < sizeof fields / sizeof fields[0]; index++) {
        struct hew_tuning_counters one = {0};
        *at(&one, &fields[index]) = *at(&all, &fields[index]) = 1000;
        sum += hew_tuning_lost_to_batches(&one);
    }
    CHECK(sum > 0 && hew_tuning_lost_to_batches(&all) == sum);
}
