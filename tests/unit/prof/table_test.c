/* SPDX-License-Identifier: MIT */
#include "prof/snapshot.h"

#include "base/options.h"
#include "layers.h"
#include "test.h"

static const uintptr_t one_stack[] = {0x1000, 0x2000, 0x3000};
static const uintptr_t other_stack[] = {0x1000, 0x2000, 0x4000};
static const struct hew_prof_totals object = {1, 64, 1 << HEW_WEIGHT_SHIFT, 64};

static struct hew_prof_counter *
add(struct hew_prof_thread *thread, const uintptr_t *frames)
{
    return hew_prof_table_add(thread, frames, 3, &object);
}

static void
check_sizes(size_t stacks, size_t counters, size_t threads)
{
    struct hew_prof_table_sizes sizes = hew_prof_table_sizes();
    CHECK_EQUAL(sizes.stacks, stacks);
    CHECK_EQUAL(sizes.frames, stacks * 3);
    CHECK_EQUAL(sizes.counters, counters);
    CHECK_EQUAL(sizes.threads, threads);
}

TEST(equal_stacks_of_one_thread_share_a_counter)
{
    CHECK(layers_boot());
    struct hew_prof_thread *thread = hew_prof_table_join();
    struct hew_prof_counter *counter = add(thread, one_stack);
    CHECK(add(thread, one_stack) == counter);
    CHECK(add(thread, other_stack) != counter);
    CHECK_EQUAL(counter->live.objects, 2);
    check_sizes(2, 2, 1);
    hew_prof_table_reset();
    check_sizes(0, 0, 1);
    hew_prof_table_leave(thread);
    check_sizes(0, 0, 0);
}

TEST(a_counter_goes_with_its_last_object_and_a_stack_with_its_last_counter)
{
    struct hew_prof_thread *thread = hew_prof_table_join(), *second = hew_prof_table_join();
    struct hew_prof_counter *counter = add(thread, one_stack), *seconds = add(second, one_stack);
    check_sizes(1, 2, 2);
    hew_prof_table_remove(counter, &object);
    check_sizes(1, 1, 2);
    hew_prof_table_remove(seconds, &object);
    check_sizes(0, 0, 2);
    hew_prof_table_leave(thread);
    hew_prof_table_leave(second);
}

TEST(a_thread_that_has_ended_stays_while_its_objects_live)
{
    struct hew_prof_thread *thread = hew_prof_table_join();
    struct hew_prof_counter *counter = add(thread, one_stack);
    hew_prof_table_leave(thread);
    check_sizes(1, 1, 1);
    hew_prof_table_remove(counter, &object);
    check_sizes(0, 0, 0);
}

TEST(with_accum_what_was_ever_allocated_outlives_objects_and_threads)
{
    hew_options.prof_accum = true;
    struct hew_prof_thread *thread = hew_prof_table_join();
    struct hew_prof_counter *counter = add(thread, one_stack);
    hew_prof_table_remove(counter, &object);
    check_sizes(1, 1, 1);
    hew_prof_table_leave(thread);
    check_sizes(1, 0, 0);
    struct hew_snapshot snapshot;
    CHECK(hew_snapshot_take(&snapshot, 1));
    CHECK_EQUAL(snapshot.stack_count, 1);
    CHECK_EQUAL(snapshot.stacks[0].ever.objects, 1);
    CHECK_EQUAL(snapshot.stacks[0].live.objects, 0);
    CHECK_EQUAL(snapshot.ever.bytes, 64);
    hew_snapshot_give(&snapshot);
    hew_prof_table_reset();
    check_sizes(0, 0, 0);
    hew_options.prof_accum = false;
}

TEST(in_a_forks_child_every_other_thread_has_ended)
{
    struct hew_prof_thread *own = hew_prof_table_join(), *other = hew_prof_table_join();
    struct hew_prof_thread *idle = hew_prof_table_join();
    struct hew_prof_counter *counter = add(other, one_stack);
    CHECK(idle != NULL);
    hew_prof_table_after_fork(own);
    check_sizes(1, 1, 2);
    CHECK(other->ended && !own->ended);
    hew_prof_table_remove(counter, &object);
    check_sizes(0, 0, 1);
    hew_prof_table_leave(own);
}

TEST(a_snapshot_has_every_stack_thread_and_sum)
{
    struct hew_prof_thread *thread = hew_prof_table_join(), *second = hew_prof_table_join();
    strcpy(second->name, "second");
    add(thread, one_stack);
    add(second, one_stack);
    add(second, other_stack);
    struct hew_snapshot snapshot;
    CHECK(hew_snapshot_take(&snapshot, 512));
    CHECK_EQUAL(snapshot.interval, 512);
    CHECK_EQUAL(snapshot.stack_count, 2);
    CHECK_EQUAL(snapshot.thread_count, 2);
    CHECK_EQUAL(snapshot.live.objects, 3);
    CHECK_TEXT(snapshot.threads[1].name, "second");
    CHECK_EQUAL(snapshot.threads[1].live.bytes, 128);
    for (size_t i = 0; i < 2; i++) {
        const struct hew_snapshot_stack *stack = &snapshot.stacks[i];
        CHECK_EQUAL(stack->depth, 3);
        CHECK_EQUAL(stack->live.objects, stack->counter_count);
        CHECK_EQUAL(stack->counter_count, stack->frames[2] == 0x3000 ? 2 : 1);
    }
    hew_snapshot_give(&snapshot);
    hew_prof_table_reset();
    hew_prof_table_leave(thread);
    hew_prof_table_leave(second);
    check_sizes(0, 0, 0);
}

TEST(without_memory_nothing_is_counted_and_the_table_stays_whole)
{
    struct hew_prof_thread *thread = hew_prof_table_join();
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    CHECK(add(thread, one_stack) == NULL);
    CHECK(hew_prof_table_join() == NULL);
    struct hew_snapshot snapshot;
    CHECK(!hew_snapshot_take(&snapshot, 1));
    hew_os_faults.refuse = NULL;
    hew_prof_table_leave(thread);
}
