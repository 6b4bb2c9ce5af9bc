/* SPDX-License-Identifier: MIT */
#include "prof/table.h"

#include "base/options.h"
#include "meta/memory.h"

#include <string.h>

struct hew_mutex hew_prof_lock = HEW_MUTEX(prof);
uint64_t hew_prof_generation;

/* All guarded by hew_prof_lock. */
static struct hew_hash stacks, counters;
static struct hew_list threads = {&threads, &threads};
static uint64_t threads_ever;
static size_t threads_now, frames_now;

struct hew_prof_thread *
hew_prof_table_join(void)
{
    struct hew_prof_thread *thread = hew_meta_take(sizeof *thread);
    if (thread != NULL) {
        thread->number = threads_ever++;
        hew_list_begin(&thread->counters);
        hew_list_push_back(&threads, &thread->link);
        threads_now++;
    }
    return thread;
}

static size_t
stack_bytes(unsigned depth)
{
    return sizeof(struct hew_prof_stack) + depth * sizeof(uintptr_t);
}

static void
drop_thread(struct hew_prof_thread *thread)
{
    hew_list_remove(&thread->link);
    threads_now--;
    hew_meta_give(thread, sizeof *thread);
}

static void
drop_stack(struct hew_prof_stack *stack)
{
    hew_hash_remove(&stacks, &stack->link);
    frames_now -= stack->depth;
    hew_meta_give(stack, stack_bytes(stack->depth));
}

static void
drop_counter(struct hew_prof_counter *counter)
{
    struct hew_prof_stack *stack = counter->stack;
    struct hew_prof_thread *thread = counter->thread;
    if (hew_options.prof_accum) {
        hew_weight_add(&stack->past, &counter->ever);
    }
    hew_hash_remove(&counters, &counter->link);
    hew_list_remove(&counter->of_stack);
    hew_list_remove(&counter->of_thread);
    hew_meta_give(counter, sizeof *counter);
    if (hew_list_is_empty(&stack->counters) && stack->past.objects == 0) {
        drop_stack(stack);
    }
    if (thread->ended && hew_list_is_empty(&thread->counters)) {
        drop_thread(thread);
    }
}

void
hew_prof_table_leave(struct hew_prof_thread *thread)
{
    struct hew_list *next;
    for (struct hew_list *node = thread->counters.next; node != &thread->counters; node = next) {
        struct hew_prof_counter *counter = HEW_CONTAINER(node, struct hew_prof_counter, of_thread);
        next = node->next;
        if (counter->live.objects == 0) {
            drop_counter(counter);
        }
    }
    thread->ended = true;
    if (hew_list_is_empty(&thread->counters)) {
        drop_thread(thread);
    }
}

static struct hew_prof_stack *
find_stack(const uintptr_t *frames, unsigned depth, uint64_t hash)
{
    for (struct hew_hash_link *link = hew_hash_first(&stacks, hash); link != NULL; link = hew_hash_next(link)) {
        struct hew_prof_stack *stack = HEW_CONTAINER(link, struct hew_prof_stack, link);
        if (stack->depth == depth && memcmp(stack->frames, frames, depth * sizeof *frames) == 0) {
            return stack;
        }
    }
    return NULL;
}

static struct hew_prof_stack *
take_stack(const uintptr_t *frames, unsigned depth)
{
    uint64_t hash = depth;
    for (unsigned i = 0; i < depth; i++) {
        hash = hew_hash_mix(hash, frames[i]);
    }
    struct hew_prof_stack *stack = find_stack(frames, depth, hash);
    if (stack != NULL) {
        return stack;
    }
    stack = hew_meta_take(stack_bytes(depth));
    if (stack == NULL) {
        return NULL;
    }
    if (!hew_hash_insert(&stacks, &stack->link, hash)) {
        hew_meta_give(stack, stack_bytes(depth));
        return NULL;
    }
    hew_list_begin(&stack->counters);
    stack->depth = depth;
    memcpy(stack->frames, frames, depth * sizeof *frames);
    frames_now += depth;
    return stack;
}

static struct hew_prof_counter *
take_counter(struct hew_prof_stack *stack, struct hew_prof_thread *thread)
{
    uint64_t hash = hew_hash_mix((uintptr_t)stack, (uintptr_t)thread);
    for (struct hew_hash_link *link = hew_hash_first(&counters, hash); link != NULL; link = hew_hash_next(link)) {
        struct hew_prof_counter *counter = HEW_CONTAINER(link, struct hew_prof_counter, link);
        if (counter->stack == stack && counter->thread == thread) {
            return counter;
        }
    }
    struct hew_prof_counter *counter = hew_meta_take(sizeof *counter);
    if (counter == NULL) {
        return NULL;
    }
    if (!hew_hash_insert(&counters, &counter->link, hash)) {
        hew_meta_give(counter, sizeof *counter);
        return NULL;
    }
    counter->stack = stack;
    counter->thread = thread;
    hew_list_begin(&counter->records);
    hew_list_push_back(&stack->counters, &counter->of_stack);
    hew_list_push_back(&thread->counters, &counter->of_thread);
    return counter;
}

struct hew_prof_counter *
hew_prof_table_add(struct hew_prof_thread *thread, const uintptr_t *frames, unsigned depth,
                   const struct hew_prof_totals *weight)
{
    struct hew_prof_stack *stack = take_stack(frames, depth);
    struct hew_prof_counter *counter = stack == NULL ? NULL : take_counter(stack, thread);
    if (counter != NULL) {
        hew_weight_add(&counter->live, weight);
        hew_weight_add(&counter->ever, weight);
    }
    return counter;
}

void
hew_prof_table_remove(struct hew_prof_counter *counter, const struct hew_prof_totals *weight)
{
    hew_weight_subtract(&counter->live, weight);
    if (counter->live.objects == 0 && (counter->thread->ended || !hew_options.prof_accum)) {
        drop_counter(counter);
    }
}

void
hew_prof_table_reset(void)
{
    hew_prof_generation++;
    for (size_t i = 0; i < stacks.size; i++) {
        while (stacks.buckets[i] != NULL) {
            struct hew_prof_stack *stack = HEW_CONTAINER(stacks.buckets[i], struct hew_prof_stack, link);
            stack->past.objects = 1; /* keeps the stack until its counters are freed */
            while (!hew_list_is_empty(&stack->counters)) {
                drop_counter(HEW_CONTAINER(stack->counters.next, struct hew_prof_counter, of_stack));
            }
            drop_stack(stack);
        }
    }
}

void
hew_prof_table_after_fork(struct hew_prof_thread *own)
{
    struct hew_list *next;
    for (struct hew_list *node = threads.next; node != &threads; node = next) {
        struct hew_prof_thread *thread = HEW_CONTAINER(node, struct hew_prof_thread, link);
        next = node->next;
        if (thread != own && !thread->ended) {
            hew_prof_table_leave(thread);
        }
    }
}

struct hew_prof_table_sizes
hew_prof_table_sizes(void)
{
    return (struct hew_prof_table_sizes){stacks.count, frames_now, counters.count, threads_now};
}

void
hew_prof_table_each_stack(void (*visit)(const struct hew_prof_stack *stack, void *context), void *context)
{
    for (size_t i = 0; i < stacks.size; i++) {
        for (struct hew_hash_link *link = stacks.buckets[i]; link != NULL; link = link->next) {
            visit(HEW_CONTAINER(link, struct hew_prof_stack, link), context);
        }
    }
}

void
hew_prof_table_each_thread(void (*visit)(const struct hew_prof_thread *thread, void *context), void *context)
{
    for (struct hew_list *node = threads.next; node != &threads; node = node->next) {
        visit(HEW_CONTAINER(node, struct hew_prof_thread, link), context);
    }
}
