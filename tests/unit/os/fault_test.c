/* SPDX-License-Identifier: MIT */
/* fault: what is seen of a fault, and that the action of the program runs as if there were no other. */
#include "os/fault.h"

#include "base/size_class.h"
#include "os/memory.h"
#include "test.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char *range;
static struct hew_fault last;
static volatile sig_atomic_t seen, handled;
static sigjmp_buf before;

static void
see(const struct hew_fault *fault)
{
    last = *fault;
    seen++;
}

static void
handle(int number)
{
    handled++;
    siglongjmp(before, 1);
}

static void
handle_with_info(int number, siginfo_t *info, void *context)
{
    handled += info->si_addr == range + 5 && context != NULL;
    siglongjmp(before, 1);
}

static void
return_from(int number)
{
    handled++;
}

static void
watch(void)
{
    range = hew_os_reserve(HEW_PAGE);
    if (!hew_fault_watch((uintptr_t)range, (uintptr_t)range + HEW_PAGE, see)) {
        _exit(2);
    }
}

static void
touch(char *address)
{
    if (sigsetjmp(before, 1) == 0) {
        *(volatile char *)address = 1;
    }
}

/* Each case in a process of its own, since the action is watched once.  Returns how it ended. */
static int
in_child(void (*run)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(1);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

static void
with_a_handler(void)
{
    signal(SIGSEGV, handle);
    char *elsewhere = hew_os_reserve(HEW_PAGE);
    watch();
    touch(range + 7);
    bool right = seen == 1 && handled == 1 && last.address == (uintptr_t)range + 7 && last.access != HEW_FAULT_READ;
    touch(elsewhere);
    _exit(right && seen == 1 && handled == 2 ? 0 : 1);
}

static void
with_a_handler_that_wants_information(void)
{
    struct sigaction action = {.sa_sigaction = handle_with_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    watch();
    touch(range + 5);
    _exit(seen == 1 && handled == 1 ? 0 : 1);
}

static void
without_a_handler(void)
{
    signal(SIGSEGV, SIG_DFL);
    watch();
    *(volatile char *)range = 1;
}

static void
sent_without_a_handler(void)
{
    signal(SIGSEGV, SIG_DFL);
    watch();
    raise(SIGSEGV);
}

static void
sent_and_ignored(void)
{
    signal(SIGSEGV, SIG_IGN);
    watch();
    raise(SIGSEGV);
    _exit(seen == 0 ? 0 : 1);
}

static void
sent_to_a_handler(void)
{
    signal(SIGSEGV, return_from);
    watch();
    raise(SIGSEGV);
    _exit(seen == 0 && handled == 1 ? 0 : 1);
}

static void
with_a_handler_set_later(void)
{
    watch();
    signal(SIGSEGV, handle);
    touch(range);
    _exit(seen == 0 && handled == 1 ? 0 : 1);
}

TEST(the_programs_handler_runs_after_the_watch)
{
    CHECK_EQUAL(in_child(with_a_handler), 0);
    CHECK_EQUAL(in_child(with_a_handler_that_wants_information), 0);
}

TEST(without_a_handler_the_process_ends_by_the_signal)
{
    int status = in_child(without_a_handler);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = in_child(sent_without_a_handler);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(a_signal_that_was_sent_is_no_fault)
{
    CHECK_EQUAL(in_child(sent_and_ignored), 0);
    CHECK_EQUAL(in_child(sent_to_a_handler), 0);
}

TEST(a_handler_that_the_program_sets_later_replaces_the_watch)
{
    CHECK_EQUAL(in_child(with_a_handler_set_later), 0);
}
