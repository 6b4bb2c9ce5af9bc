/* SPDX-License-Identifier: MIT */
/* slots: how long a freed slot waits, how many objects may live, and that a freed one cannot be touched. */
#include "guard/slots.h"

#include "layers.h"
#include "os/object.h"
#include "test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct hew_guard_stack born = {.thread = 1, .depth = 1, .frames = {1234}};

static struct hew_guard_slot *
take(size_t requested, size_t usable)
{
    static bool booted;
    if (!booted) {
        booted = true;
        CHECK(layers_boot());
        CHECK(hew_guard_slots_begin());
    }
    struct hew_guard_slot *slot = hew_guard_slot_take(requested, usable, &born);
    if (slot != NULL) {
        slot->state = HEW_GUARD_IS_LIVE;
    }
    return slot;
}

static void
give(struct hew_guard_slot *slot)
{
    slot->state = HEW_GUARD_CLOSING;
    hew_guard_slot_close(slot);
}

static bool
can_be_read(uintptr_t address)
{
    char byte;
    return hew_os_peek(address, &byte, 1);
}

/* Returns the number of checks that failed. */
static int
use_objects_of_each_size(void)
{
    int before = test_failures;
    static const size_t sizes[] = {8, 16, 64, 4096, 5120, 8192, 14336};
    for (unsigned i = 0; i < 8 * sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i / 8];
        struct hew_guard_slot *slot = take(size - 1, size);
        CHECK(slot != NULL && hew_map_code(slot->object) == HEW_CODE_GUARD && hew_guard_slot_of(slot->object) == slot);
        CHECK_EQUAL(slot->object % (size & (~size + 1)), 0); /* as a slab's region of that size */
        uintptr_t end = slot->object + size, pages = slot->object & -HEW_PAGE;
        CHECK(!can_be_read(pages - 1) && !can_be_read(hew_bits_round_up(end, HEW_PAGE)));
        CHECK(slot->high ? end % HEW_GRAIN == 0 : slot->object % HEW_GRAIN == 0);
        memset((void *)slot->object, 0x11, size - 1);
        CHECK_EQUAL(hew_guard_slot_damage(slot, true), HEW_GUARD_WHOLE);
        ((char *)slot->object)[size - 1] = 1;
        CHECK_EQUAL(hew_guard_slot_damage(slot, true), HEW_GUARD_BEHIND);
        CHECK_EQUAL(hew_guard_slot_damage(slot, false), HEW_GUARD_WHOLE);
        if (slot->object != pages) {
            ((char *)slot->object)[-1] = 0;
            CHECK_EQUAL(hew_guard_slot_damage(slot, false), HEW_GUARD_BEFORE);
        }
        give(slot);
        CHECK(!can_be_read(slot->object) && !can_be_read(end - 1));
    }
    return test_failures - before;
}

static bool
refuse_advice(const char *call)
{
    return strcmp(call, "madvise") == 0;
}

/* An older system, and a program that has locked its memory. */
TEST(without_fences_a_freed_object_is_out_of_reach_as_well)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        hew_os_faults.refuse = refuse_advice;
        _exit(use_objects_of_each_size() != 0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

TEST(an_object_stands_alone_between_guards)
{
    CHECK_EQUAL(use_objects_of_each_size(), 0);
}

TEST(fences_that_are_refused_later_are_replaced_and_the_slot_is_used_again)
{
    struct hew_guard_slot *slot = take(100, 112);
    hew_os_faults.refuse = refuse_advice;
    give(slot);
    hew_os_faults.refuse = NULL;
    CHECK(!can_be_read(slot->object));
    for (unsigned i = 0; i < 2 * HEW_GUARD_SLOTS; i++) {
        struct hew_guard_slot *other = take(100, 112);
        memset((void *)other->object, 1, 100);
        give(other);
    }
}

TEST(a_freed_slot_waits_until_all_others_have_been_used)
{
    struct hew_guard_slot *first = take(100, 112);
    uintptr_t object = first->object;
    give(first);
    unsigned uses = 0;
    for (struct hew_guard_slot *slot = NULL; slot != first; uses++) {
        CHECK(hew_guard_slot_of(object)->object == object);
        slot = take(64, 64);
        give(slot);
    }
    CHECK(uses >= HEW_GUARD_SLOTS - HEW_GUARD_LIVE);
}

TEST(no_more_objects_live_than_the_bound)
{
    static struct hew_guard_slot *slots[HEW_GUARD_LIVE];
    for (unsigned i = 0; i < HEW_GUARD_LIVE; i++) {
        slots[i] = take(i + 1, 256);
        CHECK(slots[i] != NULL);
    }
    CHECK(take(10, 16) == NULL);
    CHECK_EQUAL(hew_guard_usage_now().live, HEW_GUARD_LIVE);
    give(slots[7]);
    slots[7] = take(10, 16);
    CHECK(slots[7] != NULL);
    for (unsigned i = 0; i < HEW_GUARD_LIVE; i++) {
        give(slots[i]);
    }
    CHECK_EQUAL(hew_guard_usage_now().live, 0);
}

TEST(a_site_that_is_seen_often_is_guarded_less_often)
{
    unsigned often = 0, seldom = 0;
    for (uintptr_t i = 0; i < 3000; i++) {
        struct hew_guard_stack stack = {.depth = 2, .frames = {5, i % 100 == 0 ? 100 + i / 100 : 7}};
        bool wanted = hew_guard_site_is_wanted(&stack, false);
        often += i % 100 != 0 && wanted;
        seldom += i % 100 == 0 && wanted;
    }
    CHECK(seldom >= 28); /* of 30: two may share a place of the table with the frequent one */
    CHECK(often >= 3000 / 16 / 2 && often <= 500);
}
