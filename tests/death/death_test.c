/* SPDX-License-Identifier: MIT */
/*
 * death_test: runs each misuse in a process of its own and compares how it ends: the last line on stderr, to the letter,
 * and SIGABRT, or SIGSEGV where the line says so.
 *
 *     death_test                 every case; HEW_TEST_LIBRARY, if set, is preloaded into each
 *     death_test NAME            does that misuse: the process that dies
 *
 * The victim announces addresses on stdout, which the expected line refers to.
 */
#include "misuse.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX 16384

void
misuse_announce(const void *address)
{
    uintptr_t value = (uintptr_t)address;
    if (write(STDOUT_FILENO, &value, sizeof value) != sizeof value) {
        _exit(4);
    }
}

static const struct misuse *const tables[] = {misuses, large_misuses, pool_misuses, harden_misuses, guard_misuses};
#define TABLES (sizeof tables / sizeof tables[0])

/* The first one with that name, or with that in its line; NULL: there is none. */
static const struct misuse *
find(const char *name, const char *words)
{
    for (size_t table = 0; table < TABLES; table++) {
        for (const struct misuse *misuse = tables[table]; misuse->name != NULL; misuse++) {
            if (name != NULL ? strcmp(misuse->name, name) == 0 : strstr(misuse->line, words) != NULL) {
                return misuse;
            }
        }
    }
    return NULL;
}

static int
be_the_victim(const char *name)
{
    const struct misuse *misuse = find(name, "");
    if (misuse != NULL) {
        misuse->run();
    }
    return misuse == NULL ? 5 : 0; /* it should not have come back */
}

static _Noreturn void
begin_victim(const char *program, const struct misuse *misuse, int out, int error)
{
    const char *library = getenv("HEW_TEST_LIBRARY");
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    dup2(out, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
    if (misuse->settings != NULL) {
        setenv("MALLOC_CONF", misuse->settings, 1);
    }
    if (library != NULL) {
        setenv("LD_PRELOAD", library, 1);
    }
    execl(program, program, misuse->name, (char *)NULL);
    _exit(6);
}

static size_t
read_all(int file, void *buffer, size_t capacity)
{
    size_t length = 0;
    ssize_t got;
    while (length < capacity && (got = read(file, (char *)buffer + length, capacity - length)) > 0) {
        length += (size_t)got;
    }
    return length;
}

/* The line with the announced addresses in the places of %0 and %1. */
static void
put_addresses(const char *line, const uintptr_t *addresses, char *expected)
{
    for (; *line != '\0'; line++) {
        if (line[0] == '%' && (line[1] == '0' || line[1] == '1')) {
            expected += sprintf(expected, "0x%zx", (size_t)addresses[*++line - '0']);
        } else {
            *expected++ = *line;
        }
    }
    strcpy(expected, "\n");
}

/* The last line but for those that begin with a space, stacks: warnings about settings may stand before it. */
static const char *
last_line(const char *text)
{
    const char *line = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '\n' && at[1] != '\0' && at[1] != ' ') {
            line = at + 1;
        }
    }
    return line;
}

static bool
dies_as_it_should(const char *program, const struct misuse *misuse)
{
    int out[2], error[2], status = 0;
    char text[TEXT_MAX] = "", expected[TEXT_MAX];
    uintptr_t addresses[2] = {0, 0};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        begin_victim(program, misuse, out[1], error[1]);
    }
    close(out[1]);
    close(error[1]);
    read_all(out[0], addresses, sizeof addresses);
    text[read_all(error[0], text, sizeof text - 1)] = '\0';
    close(out[0]);
    close(error[0]);
    if (waitpid(child, &status, 0) != child) {
        return false;
    }
    put_addresses(misuse->line, addresses, expected);
    int number = strstr(misuse->line, "SIGSEGV") != NULL ? SIGSEGV : SIGABRT;
    bool ended = WIFSIGNALED(status) && WTERMSIG(status) == number;
    bool said = strncmp(last_line(text), expected, strlen(expected)) == 0;
    if (!ended || !said) {
        printf("  ended with status %#x, expected signal %d\n  said      %s\n  expected  %s", status, number, text,
               expected);
    }
    return ended && said;
}

static const char *const texts[] = {
#define FATAL(name, text) text,
#define FATAL_CHECK(name, text)
#include "base/fatal.def"
#undef FATAL
};

/* Every message of the table has a case here, but for those that no program can provoke: tests/unit/os/check_test.c. */
static bool
all_messages_are_provoked(void)
{
    bool all = true;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (find(NULL, texts[i]) == NULL) {
            printf("  nothing provokes \"%s\"\n", texts[i]);
            all = false;
        }
    }
    return all;
}

int
main(int count, char **arguments)
{
    unsigned tests = 0, failed = 0;
    if (count > 1) {
        return be_the_victim(arguments[1]);
    }
    unsetenv("MALLOC_CONF");
    failed += !all_messages_are_provoked();
    for (size_t table = 0; table < TABLES; table++) {
        for (const struct misuse *misuse = tables[table]; misuse->name != NULL; misuse++) {
            bool right = dies_as_it_should("/proc/self/exe", misuse);
            printf("%s %u - %s\n", right ? "ok" : "not ok", ++tests, misuse->name);
            failed += !right;
        }
    }
    printf("%u deaths, %u not as expected\n", tests, failed);
    return failed != 0 || tests == 0;
}
