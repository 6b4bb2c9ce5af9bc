/* SPDX-License-Identifier: MIT */
/* thread: see thread.h. */
#include "record/thread.h"

#include "os/clock.h"
#include "os/registers.h"
#include "os/syscall.h"
#include "os/threads.h"

#include <string.h>
#include <sys/prctl.h>

_Thread_local struct hew_trace_thread hew_trace_thread __attribute__((tls_model("initial-exec")));

#define SMALLEST_ROOM 4096u
#define LARGEST_ROOM (64u << 10)
#define DESTRUCTOR_ROUNDS 4 /* as many as pthreads run; in the last one no other destructor has memory to free */

static pthread_key_t key;
static uint32_t key_state; /* 0 none yet, 1 being created, 2 exists, 3 cannot be created */

static void at_thread_end(void *argument);

static void
make_key(void)
{
    uint32_t none = 0;

    if (hew_threads_here() &&
        __atomic_compare_exchange_n(&key_state, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&key_state, pthread_key_create(&key, at_thread_end) == 0 ? 2 : 3, __ATOMIC_RELEASE);
    }
}

/* Arranges that at_thread_end() runs at the end of this thread. */
static void
watch_end(struct hew_trace_thread *thread)
{
    if (__atomic_load_n(&key_state, __ATOMIC_ACQUIRE) == 2) {
        pthread_setspecific(key, thread); /* a thread's first keys need no memory */
    }
}

/* Brackets reads of the shared state: hew_trace_attach() waits until no thread is inside. */
static void
go_inside(void)
{
    __atomic_fetch_add(&hew_trace_shared.inside, 1, __ATOMIC_SEQ_CST);
}

static void
come_out(void)
{
    __atomic_fetch_sub(&hew_trace_shared.inside, 1, __ATOMIC_SEQ_CST);
}

void
hew_trace_thread_draw(struct hew_trace_thread *thread)
{
    thread->until_sample = hew_random_objects(&thread->random, 1, hew_trace_settings.sample_bytes);
}

static uint64_t
seed_of(uint64_t thread)
{
    uint64_t seed = hew_trace_settings.seed != 0 ? hew_trace_settings.seed : hew_trace_cycles();
    struct hew_random first = {seed ^ (thread + 1) * UINT64_C(0xbf58476d1ce4e5b9)};

    return hew_random_next(&first);
}

static bool
begin(struct hew_trace_thread *thread)
{
    uint64_t number, generation;

    if (__atomic_load_n(&hew_trace_shared.phase, __ATOMIC_ACQUIRE) == HEW_TRACE_STOPPED) {
        return false;
    }
    thread->busy = true; /* calls made from here are not recorded */
    if (!hew_trace_start()) {
        thread->busy = false;
        return false;
    }
    generation = __atomic_load_n(&hew_trace_shared.generation, __ATOMIC_ACQUIRE);
    number = __atomic_fetch_add(&hew_trace_shared.threads, 1, __ATOMIC_RELAXED);
    if (number > HEW_TRACE_THREADS_MAX) {
        hew_trace_stop(HEW_TRACE_FULL);
        thread->busy = false;
        return false;
    }
    *thread = (struct hew_trace_thread){
        .writer = {.thread = (uint32_t)(number - hew_trace_shared.floor)},
        .generation = generation,
        .base = (number + 1) << HEW_TRACE_LG_NUMBER,
        .sampled = (number - hew_trace_shared.floor) % hew_trace_settings.thread_sampling == 0,
        .until_stack = (uint32_t)hew_trace_settings.stack_sampling,
        .random = {seed_of(number - hew_trace_shared.floor)},
        .room = SMALLEST_ROOM,
        .walk = thread->walk,
        .busy = true,
    };
    if (hew_trace_settings.sample_bytes != 0) {
        hew_trace_thread_draw(thread);
    }
    if (thread->walk != NULL) {
        hew_trace_walk_forget(thread->walk);
    }
    make_key();
    watch_end(thread);
    thread->busy = false;
    return generation != 0;
}

bool
hew_trace_thread_begin(struct hew_trace_thread *thread)
{
    bool begun;

    go_inside();
    begun = begin(thread);
    come_out();
    return begun;
}

/* Takes a room for the thread's next operations.  The first is small, because many threads do little. */
static bool
next_block(struct hew_trace_thread *thread)
{
    struct hew_trace_writer *writer = &thread->writer;
    void *room;

    if (writer->block != NULL) {
        room = writer->block;
        hew_trace_writer_close(writer);
        hew_trace_leave_room(room, thread->room);
        thread->room = thread->room < LARGEST_ROOM ? thread->room * 4 : LARGEST_ROOM;
    }
    room = hew_trace_take_room(thread->room, thread->generation);
    if (room == NULL) {
        thread->generation = 0;
        return false;
    }
    hew_trace_writer_begin(writer, room, thread->room);
    thread->node = 0;
    thread->block_begins = true;
    return true;
}

/* Writes the thread's name, if it has another one now. */
static void
write_name(struct hew_trace_thread *thread)
{
    char name[sizeof(thread->name)] = "";

    if (hew_syscall4(SYS_prctl, PR_GET_NAME, name, 0, 0) == 0 && memcmp(name, thread->name, sizeof(name)) != 0) {
        name[HEW_TRACE_NAME_MAX] = '\0';
        memcpy(thread->name, name, sizeof(name));
        thread->tid = thread->tid != 0 ? thread->tid : (uint32_t)hew_syscall1(SYS_gettid, 0);
        hew_trace_write_name(&thread->writer, thread->tid, name, strlen(name));
    }
}

/* Whether the attached client has been silent for too long. */
static bool
is_over(const struct hew_trace_state *state, uint64_t time)
{
    uint64_t until = __atomic_load_n(&state->until_ns, __ATOMIC_RELAXED);

    return until != 0 && state->first_ns + time * 1000 > until;
}

static bool
begin_batch(struct hew_trace_thread *thread)
{
    struct hew_trace_state *state = &hew_trace_shared;
    uint64_t cycles = hew_trace_cycles(), before = thread->writer.ticket, ticket, time;

    if (hew_trace_writer_is_full(&thread->writer) && !next_block(thread)) {
        return false;
    }
    time = hew_trace_time();
    if (HEW_UNLIKELY(is_over(state, time))) {
        hew_trace_stop(0);
        return false;
    }
    if (time > 1000 && cycles > state->first_cycles) {
        __atomic_store_n(&state->cycles_per_ms, (cycles - state->first_cycles) / (time / 1000), __ATOMIC_RELAXED);
    }
    if (time < thread->writer.time) {
        time = thread->writer.time;
    }
    ticket = __atomic_add_fetch(&state->ticket, 1, __ATOMIC_ACQ_REL);
    hew_trace_write_sync(&thread->writer, ticket, time);
    if (thread->block_begins) {
        thread->block_begins = false;
        write_name(thread);
    }
    thread->left = (ticket == before + 1 ? HEW_TRACE_BATCH_ALONE : HEW_TRACE_BATCH_OPERATIONS) - 1;
    thread->deadline =
        cycles + __atomic_load_n(&state->cycles_per_ms, __ATOMIC_RELAXED) / 1000 * HEW_TRACE_BATCH_MICROSECONDS;
    return true;
}

bool
hew_trace_thread_sync(struct hew_trace_thread *thread)
{
    bool goes_on;

    go_inside();
    goes_on =
        __atomic_load_n(&hew_trace_shared.generation, __ATOMIC_SEQ_CST) == thread->generation && begin_batch(thread);
    come_out();
    return goes_on;
}

/* The caller of hew_trace_thread_stack(): its frame is the one this function is inlined into. */
HEW_INLINE struct hew_trace_start
start_here(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
#if defined(__x86_64__)
    return (struct hew_trace_start){frame[1], (uintptr_t)(frame + 2), frame[0]};
#else
    return (struct hew_trace_start){hew_registers_address(frame[1]), (uintptr_t)__builtin_dwarf_cfa(), frame[0]};
#endif
}

void
hew_trace_thread_stack(struct hew_trace_thread *thread)
{
    uint32_t node = 0;

    if (--thread->until_stack == 0) {
        thread->until_stack = (uint32_t)hew_trace_settings.stack_sampling;
        thread->walk = thread->walk != NULL ? thread->walk : hew_trace_walk_new();
        node = thread->walk == NULL ? 0 : hew_trace_walk(thread->walk, start_here());
    }
    if (node != thread->node) {
        hew_trace_write_node(&thread->writer, node);
        thread->node = node;
    }
}

static void
at_thread_end(void *argument)
{
    struct hew_trace_thread *thread = argument;
    void *room;

    if (++thread->rounds < DESTRUCTOR_ROUNDS) {
        watch_end(thread);
        return;
    }
    if (!hew_trace_enter(thread)) {
        return;
    }
    if (thread->writer.block != NULL) {
        room = thread->writer.block;
        write_name(thread);
        if (thread->passed != 0) {
            hew_trace_write_passed(&thread->writer, thread->passed);
        }
        hew_trace_write_exit(&thread->writer);
        hew_trace_writer_close(&thread->writer);
        hew_trace_leave_room(room, thread->room);
        thread->room = SMALLEST_ROOM;
    }
    if (thread->handles_left != 0) {
        hew_trace_ids_end(thread->handle, thread->handles_left);
        thread->handles_left = 0;
    }
    if (thread->walk != NULL) {
        hew_trace_walk_free(thread->walk);
        thread->walk = NULL;
    }
    hew_trace_leave(thread);
}
