/* SPDX-License-Identifier: MIT */
/*
 * locked: a program that locks all its memory.
 *
 *   locked first BYTES   without privilege, within that limit of locked memory, before the first malloc: malloc works
 *   locked later BYTES   the same, after some: it is not refused for what is only reserved
 *   locked free          with privilege, after some: the kernel makes no tables for what is only reserved, now or later
 *
 * 77: what the case needs is not allowed here.
 */
#include "under_test.h"

#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { SKIPPED = 77, MOST_TABLES_KIB = 1024, OBJECTS = 2000 };

static int failures;

/* Straight to the file: stdio asks for memory. */
static void
expect(bool condition, const char *what)
{
    const char *verdict = condition ? "ok - " : "not ok - ";
    if (write(STDOUT_FILENO, verdict, strlen(verdict)) < 0 || write(STDOUT_FILENO, what, strlen(what)) < 0 ||
        write(STDOUT_FILENO, "\n", 1) < 0)
        _exit(4);
    failures += !condition;
}

static void
lose_privilege(size_t limit)
{
    struct rlimit locked = {limit, limit};
    if (setrlimit(RLIMIT_MEMLOCK, &locked) != 0)
        _exit(SKIPPED);
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        _exit(SKIPPED);
}

static void
use_memory(size_t size)
{
    static unsigned char *object[OBJECTS];
    bool all = true, whole = true;
    for (size_t i = 0; i < OBJECTS; i++) {
        object[i] = malloc(size);
        all = all && object[i] != NULL;
        if (object[i] != NULL)
            memset(object[i], (int)i, size);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        whole = whole && (object[i] == NULL || object[i][size - 1] == (unsigned char)i);
        free(object[i]);
    }
    expect(all, "there is memory");
    expect(whole, "objects hold what was written");
}

static long
page_tables_kib(void)
{
    char text[8192];
    int file = open("/proc/self/status", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length < 0 ? 0 : length] = '\0';
    const char *line = strstr(text, "VmPTE:");
    return line == NULL ? 0 : atol(line + 6);
}

int
main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "first") == 0) {
        lose_privilege((size_t)atol(argv[2]));
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
            return SKIPPED; /* libraries alone are more */
        use_memory(100);
    } else if (strcmp(how, "later") == 0) {
        use_memory(100);
        lose_privilege((size_t)atol(argv[2]));
        expect(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "memory can be locked");
        use_memory(1000);
    } else if (strcmp(how, "free") == 0) {
        use_memory(100);
        long before = page_tables_kib();
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
            return SKIPPED;
        expect(page_tables_kib() - before < MOST_TABLES_KIB, "no tables for what is reserved");
        use_memory(10000);
        if (mlockall(MCL_CURRENT) != 0)
            return SKIPPED;
        expect(page_tables_kib() - before < MOST_TABLES_KIB, "nor the second time");
    } else {
        return 2;
    }
    return failures != 0;
}
