/* SPDX-License-Identifier: MIT */
/* Every policy: objects never overlap, lie where they were asked to, and all memory comes back; and what textbooks show of each. */
#include "simulate/classes.h"
#include "simulate/policy.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

#define OBJECTS 300
#define STEPS 30000

static struct policy *
take_one(struct policy *policy, uint64_t size, struct policy_place *place)
{
    CHECK(policy->methods->take(policy, size, POLICY_QUANTUM, place));
    return policy;
}

static uint64_t
at(struct policy *policy, uint64_t size)
{
    struct policy_place place;
    take_one(policy, size, &place);
    return place.address;
}

static void
check_apart(const struct policy_place *places, size_t one)
{
    for (size_t other = 0; other < OBJECTS; other++) {
        if (other != one && places[other].gross != 0) {
            CHECK(places[one].address + places[one].room <= places[other].address ||
                  places[other].address + places[other].room <= places[one].address);
        }
    }
}

static uint64_t
next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void
churn(struct policy *policy)
{
    static struct policy_place places[OBJECTS];
    uint64_t random = 88172645463325252, gross = 0;

    memset(places, 0, sizeof(places));
    for (int step = 0; step < STEPS; step++) {
        size_t which = next(&random) % OBJECTS;
        uint64_t size = random % 7 == 0 ? random >> 20 & 0xfffff : random >> 20 & 0x3ff;
        uint64_t align = random % 11 == 0 ? UINT64_C(1) << (4 + (random >> 50) % 10) : POLICY_QUANTUM;
        if (places[which].gross != 0) {
            gross -= places[which].gross;
            CHECK(policy->methods->give(policy, &places[which]));
            places[which].gross = 0;
        } else {
            CHECK(policy->methods->take(policy, size, align, &places[which]));
            CHECK(places[which].room >= size && places[which].gross >= places[which].room);
            CHECK(align == POLICY_QUANTUM ||
                  (places[which].address + places[which].gross - places[which].room) % 8 == 0);
            gross += places[which].gross;
            check_apart(places, which);
        }
        CHECK(policy->heap >= gross);
    }
    for (size_t which = 0; which < OBJECTS; which++) {
        if (places[which].gross != 0) {
            CHECK(policy->methods->give(policy, &places[which]));
        }
    }
    CHECK_EQUAL(policy->heap, 0);
    policy->methods->end(policy);
}

TEST(objects_never_overlap_and_all_memory_comes_back)
{
    struct policy_classes *tables[] = {classes_hew(false), classes_hew(true), classes_jemalloc(), classes_slab(),
                                       classes_powers()};

    churn(policy_first_fit());
    churn(policy_next_fit());
    churn(policy_best_fit());
    churn(policy_worst_fit());
    churn(policy_binary_buddy());
    churn(policy_fibonacci_buddy());
    for (size_t one = 0; one < sizeof(tables) / sizeof(tables[0]); one++) {
        churn(policy_segregated(tables[one]));
        classes_end(tables[one]);
    }
}

/* The objects lie where the alignment asks, header or not. */
TEST(an_alignment_is_kept_by_all)
{
    struct policy_classes *hew = classes_hew(false);
    struct policy *all[] = {policy_first_fit(), policy_best_fit(), policy_binary_buddy(), policy_fibonacci_buddy(),
                            policy_segregated(hew)};

    for (size_t one = 0; one < sizeof(all) / sizeof(all[0]); one++) {
        uint64_t header = one < 2 ? 8 : 0;
        for (unsigned lg = 4; lg < 22; lg++) {
            struct policy_place place;
            take_one(all[one], 40, &place);
            CHECK_EQUAL((place.address + header) % 16, 0);
            CHECK(all[one]->methods->take(all[one], 100, UINT64_C(1) << lg, &place));
            CHECK_EQUAL((place.address + header) % (UINT64_C(1) << lg), 0);
        }
        all[one]->methods->end(all[one]);
    }
    classes_end(hew);
}

/* Holes of 96, 48 and 160 bytes, in this order, between objects; then a request of 40. */
static uint64_t
place_among_holes(struct policy *policy, uint64_t *second)
{
    struct policy_place holes[3], kept;
    const uint64_t sizes[] = {88, 40, 152};
    uint64_t found;

    for (size_t hole = 0; hole < 3; hole++) {
        take_one(policy, sizes[hole], &holes[hole]);
        take_one(policy, 24, &kept);
    }
    for (size_t hole = 0; hole < 3; hole++) {
        CHECK(policy->methods->give(policy, &holes[hole]));
    }
    found = at(policy, 40) - holes[0].address;
    *second = at(policy, 40) - holes[0].address;
    policy->methods->end(policy);
    return found;
}

TEST(fits_choose_as_textbooks_say)
{
    uint64_t second;

    /* Holes begin at 0 (96 bytes), 128 (48) and 208 (160). */
    CHECK_EQUAL(place_among_holes(policy_first_fit(), &second), 0);
    CHECK_EQUAL(second, 48);
    CHECK_EQUAL(place_among_holes(policy_best_fit(), &second), 128);
    CHECK_EQUAL(second, 0);
    CHECK_EQUAL(place_among_holes(policy_worst_fit(), &second), 208);
    CHECK_EQUAL(second, 256);
    CHECK_EQUAL(place_among_holes(policy_next_fit(), &second),
                0); /* the last one ended at the end: from the start again */
    CHECK_EQUAL(second, 48);
}

TEST(next_fit_goes_on_where_it_stopped)
{
    struct policy *next = policy_next_fit();
    struct policy_place holes[3], kept;
    uint64_t base;

    for (size_t hole = 0; hole < 3; hole++) {
        take_one(next, 40, &holes[hole]);
        take_one(next, 24, &kept);
    }
    base = holes[0].address;
    for (size_t hole = 0; hole < 3; hole++) {
        CHECK(next->methods->give(next, &holes[hole]));
    }
    CHECK_EQUAL(at(next, 40), base);
    CHECK_EQUAL(at(next, 24), base + 80); /* not the lowest one's rest, but the next hole */
    next->methods->end(next);
}

TEST(a_binary_buddy_rounds_two_kib_and_a_byte_up_to_four)
{
    struct policy *buddy = policy_binary_buddy();
    struct policy_place place, other;

    take_one(buddy, 2048, &place);
    CHECK_EQUAL(place.gross, 2048);
    take_one(buddy, 2049, &other);
    CHECK_EQUAL(other.gross, 4096);
    CHECK_EQUAL(buddy->heap, UINT64_C(1) << 20);
    CHECK(buddy->methods->give(buddy, &place));
    CHECK(buddy->methods->give(buddy, &other));
    CHECK_EQUAL(buddy->heap, 0); /* they have merged up to the region */
    buddy->methods->end(buddy);
}

TEST(a_fibonacci_buddy_rounds_to_fibonacci_numbers)
{
    const uint64_t sizes[][2] = {{16, 16}, {17, 32}, {33, 48}, {49, 80}, {81, 128}, {2049, 2304}};
    struct policy *buddy = policy_fibonacci_buddy();

    for (size_t one = 0; one < sizeof(sizes) / sizeof(sizes[0]); one++) {
        struct policy_place place;
        take_one(buddy, sizes[one][0], &place);
        CHECK(place.gross == sizes[one][1] || place.gross == 32); /* 16 comes from 32, which is not split further */
    }
    buddy->methods->end(buddy);
}

TEST(classes_are_those_of_the_allocators)
{
    struct policy_classes *jemalloc = classes_jemalloc(), *hew = classes_hew(false);
    const uint64_t first[] = {8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320};

    CHECK_EQUAL(jemalloc->count, 36);
    for (size_t one = 0; one < sizeof(first) / sizeof(first[0]); one++) {
        CHECK_EQUAL(jemalloc->sizes[one], first[one]);
        CHECK_EQUAL(hew->sizes[one], first[one]);
    }
    CHECK_EQUAL(jemalloc->slabs[8], 4096);  /* 128 */
    CHECK_EQUAL(jemalloc->slabs[9], 20480); /* 160 */
    CHECK_EQUAL(jemalloc->sizes[35], 14336);
    classes_end(jemalloc);
    classes_end(hew);
}

TEST(classes_of_ones_own_are_read_or_refused)
{
    char why[200];
    struct policy_classes *own = classes_of_text("mine=24,40,14336", why, sizeof(why));
    const char *wrong[] = {"",       "mine",       "=8",       "mine=",     "mine=8,", "mine=16,8",
                           "mine=9", "mine=14344", "mine=8,8", "mine=8;16", "mine=-8"};

    CHECK_EQUAL(own->count, 3);
    CHECK(strcmp(own->name, "mine") == 0);
    classes_end(own);
    for (size_t one = 0; one < sizeof(wrong) / sizeof(wrong[0]); one++) {
        why[0] = '\0';
        CHECK(classes_of_text(wrong[one], why, sizeof(why)) == NULL);
        CHECK(strlen(why) > 0);
    }
}
