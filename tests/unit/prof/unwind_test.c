/* SPDX-License-Identifier: MIT */
#include "prof/unwind.h"

#include "os/registers.h"

#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unwind.h>

#define MOST 64

static uintptr_t ours[MOST];
static void *theirs[MOST];
static unsigned our_count, their_count;

/* Both see the same frames from the second on: the first is the test's own, at two places. */
static bool
agree(void)
{
    bool same = our_count == their_count && our_count > 2;
    for (unsigned i = 1; same && i < our_count; i++) {
        same = ours[i] == (uintptr_t)theirs[i];
    }
    if (!same) {
        for (unsigned i = 0; i < our_count || i < their_count; i++) {
            printf("%2u %#16lx %p\n", i, i < our_count ? ours[i] : 0, i < their_count ? theirs[i] : NULL);
        }
    }
    return same;
}

static _Unwind_Reason_Code
note(struct _Unwind_Context *context, void *unused)
{
    void *pc = (void *)_Unwind_GetIP(context);
    if (their_count < MOST && pc != NULL) {
        theirs[their_count++] = pc;
    }
    return _URC_NO_REASON;
}

static __attribute__((noinline)) int
look(void)
{
    /* Not backtrace(): a sanitizer puts its own in place of it, with frames of its own. */
    our_count = hew_unwind(ours, MOST, 0);
    their_count = 0;
    _Unwind_Backtrace(note, NULL);
    return (int)our_count;
}

static __attribute__((noinline)) int
deep(int depth)
{
    return depth == 0 ? look() + 1 : deep(depth - 1) + 1;
}

TEST(a_plain_stack_is_what_the_compilers_own_unwinder_sees)
{
    hew_unwind_boot(NULL);
    CHECK(deep(10) > 10);
    CHECK(agree());
    CHECK(deep(10) > 10);
    CHECK(agree()); /* from the cache this time */
}

static __attribute__((noinline)) int
with_array(size_t size)
{
    char array[size];
    memset(array, 1, size);
    return look() + array[size - 1];
}

static __attribute__((noinline)) int
with_alignment(int depth)
{
    char array[64] __attribute__((aligned(128)));
    memset(array, depth, sizeof array);
    return (int)((uintptr_t)array % 128) + with_array((size_t)depth) + array[3];
}

TEST(frames_of_variable_size_and_of_a_realigned_stack_are_walked)
{
    CHECK(with_array(1000) > 0);
    CHECK(agree());
    CHECK(with_alignment(300) > 0);
    CHECK(agree());
}

static int
compare(const void *left, const void *right)
{
    look();
    return *(const int *)left - *(const int *)right;
}

TEST(frames_of_libraries_are_walked)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], compare);
    CHECK(agree());
}

static void
on_signal(int number)
{
    look();
}

TEST(the_stack_goes_on_behind_a_signal_handler)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    CHECK(agree());
}

TEST(a_handler_on_a_stack_of_its_own_does_not_end_the_walk)
{
    static char memory[64 << 10];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR2);
    CHECK(agree());
}

TEST(no_more_frames_are_taken_than_there_is_room_for)
{
    uintptr_t few[3] = {0, 0, 7};
    CHECK_EQUAL(hew_unwind(few, 2, 0), 2);
    CHECK_EQUAL(few[2], 7);
    CHECK_EQUAL(hew_unwind(few, 1, 0), 1);
}

static __attribute__((noinline)) unsigned
behind(uintptr_t inner)
{
    uintptr_t frames[MOST];
    unsigned count = hew_unwind(frames, MOST, inner);
    __asm__ volatile("" ::: "memory");
    return count;
}

static __attribute__((noinline)) unsigned
between(uintptr_t inner)
{
    unsigned count = behind(inner);
    __asm__ volatile("" ::: "memory");
    return count;
}

TEST(frames_below_an_address_of_the_stack_are_left_out)
{
    char array[64]; /* frame pointers stand at the top of a frame, or at its bottom, by processor */
    memset(array, 1, sizeof array);
    uintptr_t here = (uintptr_t)array + sizeof array;
    CHECK_EQUAL(between(0), between(here) + 3); /* ours too: the address lies in it, and its stack ends below */
}

/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret: the trampoline that CPython copies for each function with -X perf. */
static const uint8_t trampoline[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
typedef int (*through_function)(void *, void *, int, int (*)(void));

static __attribute__((noinline)) int
seen_from(through_function through)
{
    return (through != NULL ? through(NULL, NULL, 0, look) : look()) + 1;
}

TEST(run_time_code_without_a_frame_pointer_is_walked_by_how_it_ends)
{
    TEST_SKIP_IF(hew_registers_dropped(UINT64_C(0xc308c48348)) < 0, "the code is x86-64's");
    uintptr_t direct[MOST];
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, trampoline, sizeof trampoline);
    CHECK(seen_from(NULL) > 0);
    unsigned count = our_count;
    memcpy(direct, ours, sizeof direct);
    CHECK(seen_from((through_function)(uintptr_t)page) > 0);
    CHECK_EQUAL(our_count, count + 1);
    CHECK_EQUAL(ours[1], (uintptr_t)page + 6); /* behind its call */
    for (unsigned i = 3; i < count; i++) {     /* [1] and [2] stand at two places */
        CHECK_EQUAL(ours[i + 1], direct[i]);
    }
    munmap(page, 4096);
}
