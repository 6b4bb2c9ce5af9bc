# SPDX-License-Identifier: MIT
"""A library that poses as a jemalloc and misbehaves, and a program that lives with it; so that each way out of an
attach is taken for certain."""

# Its names have the prefix je_; FAULT: 1 crashes, 2 waits for the program's other thread, 3 does not return.
LIBRARY = """
#include <stdlib.h>
const char *const je_text = "<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).";
const char je_version[] = "\\0" "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
extern volatile long beats;
volatile int je_leave, je_there;
void *je_malloc(size_t size) { return malloc(size); }
int je_mallctl(const char *name, void *old, size_t *length, void *new, size_t size)
{
    (void)new, (void)size;
    if (*length == 4)
        *(unsigned *)old = 1;
    else
        *(char *)old = 1;
    return name == je_text || name == je_version;
}
int je_mallctlnametomib(const char *name, size_t *mib, size_t *length)
{
    return (void)mib, (void)length, name == je_text;
}
void je_malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options)
{
    (void)options;
    long before = beats;
    if (FAULT == 1)
        *(volatile int *)8 = 1;
    while (FAULT == 2 && beats < before + 100)
        ;
    while (FAULT == 3 && !je_leave)
        ;
    write(opaque, "{\\"jemalloc\\": {\\"version\\": \\"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c\\"}}");
}
void je_spin(void)
{
    for (je_there = 1; !je_leave;)
        ;
}
"""

# Says "ready"; a line from standard input makes it say whether it is well, and end. "inside", "forking", "exiting":
# its other thread is there until then; "filtered": a seccomp filter allows all system calls.
PROGRAM = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <sys/prctl.h>
#include <unistd.h>
volatile long beats;
extern volatile int je_leave, je_there;
void je_spin(void);
void *je_malloc(unsigned long size);
static int handled;
static void handle(int number) { handled = number; }
static void watch_calls(void)
{
    struct sock_filter allow = {.code = 6, .k = 0x7fff0000};
    struct sock_fprog program = {.len = 1, .filter = &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, 2, &program);
}
static void *beat(void *unused)
{
    for (je_there = 1; !je_leave; beats++)
        ;
    return unused;
}
static void *inside(void *unused)
{
    je_spin();
    return unused;
}
static void until_told(void)
{
    for (je_there = 1; !je_leave;)
        ;
}
static void *fork_off(void *unused)
{
    pthread_atfork(until_told, NULL, NULL);
    if (fork() == 0)
        _exit(0);
    return unused;
}
static void *leave(void *unused)
{
    atexit(until_told);
    exit(9);
    return unused;
}
static void *(*chosen(const char *word))(void *)
{
    return strcmp(word, "inside") == 0 ? inside : strcmp(word, "forking") == 0 ? fork_off
        : strcmp(word, "exiting") == 0 ? leave : beat;
}
int main(int words, char **word)
{
    char line[8] = "";
    pthread_t thread;
    signal(SIGSEGV, handle);
    line[0] = word[0] == je_malloc(10);
    if (words > 1 && strcmp(word[1], "filtered") == 0)
        watch_calls();
    pthread_create(&thread, NULL, chosen(words > 1 ? word[1] : ""), NULL);
    while (!je_there)
        ;
    puts("ready");
    fflush(stdout);
    ssize_t count = read(0, line, 7);
    je_leave = 1;
    pthread_join(thread, NULL);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    printf("read %zd, handled %d, blocked %d\\n", count, handled, sigismember(&now, SIGUSR1));
    return 0;
}
"""
