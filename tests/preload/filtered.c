/* SPDX-License-Identifier: MIT */
/*
 * filtered: a program that allows itself, after its first malloc, only the system calls that docs/sandboxes.md lists, and those of
 * its own; any other ends it.  Then it grows, shrinks, and asks for more than there is.
 *
 *     filtered alone     one thread, and no call that makes another
 *     filtered threads   the program makes threads
 *     filtered started   as `alone` with a purger, which the program starts before it forbids that
 *
 * 77: the system refuses a filter.  With a second argument the filter is installed behind the back of prctl(), and
 * background_thread:false must do
 */
#include "under_test.h"
#include "users/jemalloc_calls.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { SKIPPED = 77, THREADS = 4, PIECES = 1500, PIECE = 100000, MOST_CALLS = 32 };

/* hew's own; what the program itself does; what libc does for a thread. */
static const int of_hew[] = {SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex};
static const int of_program[] = {SYS_write, SYS_exit_group};
static const int of_threads[] = {SYS_clone,          SYS_clone3,          SYS_exit, SYS_rt_sigaction,
                                 SYS_rt_sigprocmask, SYS_set_robust_list, SYS_rseq};

static struct sock_filter rules[2 * MOST_CALLS + 2];
static unsigned short rules_made;

static void
allow(const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rules[rules_made++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        rules[rules_made++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
}

static bool
forbid_all_else(bool threads, bool unnoticed)
{
    rules[rules_made++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    allow(of_hew, sizeof of_hew / sizeof *of_hew);
    allow(of_program, sizeof of_program / sizeof *of_program);
    if (threads) {
        allow(of_threads, sizeof of_threads / sizeof *of_threads);
    }
    rules[rules_made++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {rules_made, rules};
    if (!unnoticed) {
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    }
    return syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static void *
allocate(void *unused)
{
    static _Thread_local char *pieces[PIECES];
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < PIECES; i++) {
            pieces[i] = malloc(PIECE);
            memset(pieces[i], 1, PIECE);
        }
        for (size_t i = 0; i < PIECES; i++) {
            pieces[i] = realloc(pieces[i], i % 2 == 0 ? 100 : PIECE + PIECE / 2);
        }
        for (size_t i = 0; i < PIECES; i++) {
            free(pieces[i]);
        }
        for (size_t size = 8; size < (size_t)64 << 20; size += size / 4 + 8) {
            char *object = malloc(size);
            object[0] = object[size - 1] = 1;
            free(object);
        }
    }
    free(malloc(under_test_opaque((size_t)1 << 30)));
    return unused;
}

static void
say(const char *text)
{
    if (write(1, text, strlen(text)) < 0) {
        _exit(2);
    }
}

static bool
start_purger(void)
{
    bool enabled = true;
    return mallctl("background_thread", NULL, NULL, &enabled, sizeof enabled) == 0;
}

int
main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "alone";
    bool threads = strcmp(way, "threads") == 0;
    free(malloc(under_test_opaque(100)));
    if (strcmp(way, "started") == 0 && !start_purger()) {
        say("no purger\n");
        return 1;
    }
    if (!forbid_all_else(threads, argc > 2)) {
        say("SKIP: the system refuses a filter\n");
        return SKIPPED;
    }
    allocate(NULL);
    pthread_t others[THREADS];
    for (unsigned i = 0; threads && i < THREADS; i++) {
        if (pthread_create(&others[i], NULL, allocate, NULL) != 0) {
            say("no thread\n");
            _exit(1);
        }
    }
    for (unsigned i = 0; threads && i < THREADS; i++) {
        pthread_join(others[i], NULL);
    }
    say("ok\n");
    _exit(0);
}
