/* SPDX-License-Identifier: MIT */
/* Unit tests of os/fatal: each end's exact text and signal, in a process of its own. */
#include "os/fatal.h"

#include "test.h"

#include "fakes/child.h"

#include <errno.h>
#include <signal.h>

static enum hew_fatal_kind kind;
static const char *detail;
static uintptr_t address;

static void
end_here(void)
{
    hew_fatal(kind, "free", address, detail);
}

static void
check_end(const char *text)
{
    struct child_end end = child_run(end_here);
    CHECK_TEXT(end.error, text);
    CHECK(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT);
}

TEST(an_end_names_the_function_the_address_the_text_and_the_detail)
{
    kind = HEW_FATAL_double_free;
    address = 0x7f0012345000;
    detail = "48 bytes";
    check_end("<hew>: free(0x7f0012345000): double free: 48 bytes\n");
}

TEST(without_detail_the_line_ends_after_the_text)
{
    kind = HEW_FATAL_interior;
    address = 0x10;
    detail = NULL;
    check_end("<hew>: free(0x10): points inside an allocation\n");
}

TEST(address_zero_is_left_out)
{
    kind = HEW_FATAL_no_memory_at_start;
    address = 0;
    detail = NULL;
    check_end("<hew>: free(): the system gave no memory for the address map\n");
}

TEST(every_end_says_its_own_text)
{
    static const char *const texts[] = {
#define FATAL(name, text) text,
#include "base/fatal.def"
#undef FATAL
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char line[256];
        kind = (enum hew_fatal_kind)i;
        address = 1;
        detail = NULL;
        snprintf(line, sizeof line, "<hew>: free(0x1): %s\n", texts[i]);
        check_end(line);
    }
}

TEST(a_line_that_is_too_long_is_cut_and_says_so)
{
    static char longest[800];
    memset(longest, 'x', sizeof longest - 1);
    kind = HEW_FATAL_foreign;
    address = 1;
    detail = longest;
    struct child_end end = child_run(end_here);
    size_t length = strlen(end.error);
    CHECK(length > 400 && length <= 512);
    CHECK_TEXT(end.error + length - 4, "...\n");
}

static void
write_to_a_slow_reader(void)
{
    static char text[200000];
    int ends[2];
    memset(text, 'y', sizeof text);
    CHECK(pipe(ends) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        hew_os_write_error(text, sizeof text); /* more than a pipe holds: several writes */
        _exit(0);
    }
    close(ends[1]);
    size_t total = 0;
    char part[3000];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0; total += (size_t)got) {
    }
    CHECK_EQUAL(total, sizeof text);
    CHECK(waitpid(child, NULL, 0) == child);
}

TEST(a_long_text_is_written_whole)
{
    CHECK_EQUAL(child_run(write_to_a_slow_reader).status, 0);
}

static void
write_to_nobody(void)
{
    close(STDERR_FILENO);
    errno = 7;
    hew_os_write_error("lost", 4);
    CHECK_EQUAL(errno, 7);
}

TEST(a_closed_standard_error_is_no_reason_to_hang)
{
    CHECK_EQUAL(child_run(write_to_nobody).status, 0);
}
