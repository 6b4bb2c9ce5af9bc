/* SPDX-License-Identifier: MIT */
/*
 * more_rights: a process with more rights than its user takes no settings from the environment, opens no control socket
 * and takes no heap profiles, even if settings that it trusts ask for them.
 *
 * The program runs a copy of itself that is setuid, or setgid for a user who is not root, so that the kernel sets
 * AT_SECURE.  It is linked with libhew.a, since the loader ignores preloads there.  Skipped where the test may not have
 * such a copy: a user with one group, or a file system that is mounted nosuid.
 */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER_USER 65534
#define NOT_SECURE 9

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);

/* Settings of the program itself, which it trusts. */
const char *malloc_conf = "control:auto,prof:true,narenas:3";

static bool
option_is(const char *name, bool expected)
{
    bool value = !expected;
    size_t size = sizeof value;
    return mallctl(name, &value, &size, NULL, 0) == 0 && value == expected;
}

/* Whether the process has a socket: the copy itself makes none. */
static bool
has_socket(void)
{
    struct stat state;
    free(malloc(100000));
    for (int file = 3; file < 64; file++) {
        if (fstat(file, &state) == 0 && S_ISSOCK(state.st_mode)) {
            return true;
        }
    }
    return false;
}

/* What the copy does.  Its status is the number of the first thing that is wrong. */
static int
look_from_inside(bool secure)
{
    unsigned arenas = 0;
    size_t arenas_size = sizeof arenas;
    if ((getauxval(AT_SECURE) != 0) != secure) {
        return NOT_SECURE;
    }
    if (mallctl("opt.narenas", &arenas, &arenas_size, NULL, 0) != 0 || arenas != (secure ? 3 : 5)) {
        return 1; /* HEW_CONF was read, or the program's own settings were not */
    }
    if (!option_is("opt.zero", !secure)) {
        return 2;
    }
    if (!option_is("opt.prof", !secure)) {
        return 3;
    }
    if (secure && has_socket()) {
        return 4;
    }
    return 0;
}

/* The copy has no tests to run. */
__attribute__((constructor)) static void
be_the_copy(void)
{
    const char *secure = getenv("HEW_TEST_COPY");
    if (secure != NULL) {
        exit(look_from_inside(strcmp(secure, "secure") == 0));
    }
}

/* Copies this program with these rights.  False: not allowed here. */
static bool
copy_program(const char *path, unsigned mode)
{
    char buffer[1 << 16];
    bool right = true;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    for (ssize_t got; right && (got = read(from, buffer, sizeof buffer)) > 0;) {
        right = write(to, buffer, (size_t)got) == got;
    }
    if (right && mode == S_ISUID) {
        right = fchown(to, OTHER_USER, (gid_t)-1) == 0;
    } else if (right && mode == S_ISGID) {
        gid_t groups[NGROUPS_MAX];
        int count = getgroups(NGROUPS_MAX, groups), other = 0;
        while (other < count && groups[other] == getegid()) {
            other++;
        }
        right = other < count && fchown(to, (uid_t)-1, groups[other]) == 0;
    }
    right = right && fchmod(to, 0755 | mode) == 0;
    close(from);
    close(to);
    return right;
}

static char said[1024]; /* by the last copy on standard error */

/* Runs the copy.  Returns its status. */
static int
run_copy(const char *path, bool secure)
{
    int status = -1, errors[2];
    if (pipe2(errors, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(errors[1], STDERR_FILENO);
        setenv("MALLOC_CONF", "zero:true,narenas:4", 1);
        setenv("HEW_CONF", "narenas:5", 1);
        setenv("HEW_TEST_COPY", secure ? "secure" : "plain", 1);
        execl(path, path, (char *)NULL);
        _exit(8);
    }
    close(errors[1]);
    ssize_t got = read(errors[0], said, sizeof said - 1); /* one line at most */
    said[got > 0 ? got : 0] = '\0';
    close(errors[0]);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char directory[] = "/tmp/hew-more-rights-XXXXXX";
static char path[sizeof directory + 8];

TEST(settings_are_taken_from_the_environment_otherwise)
{
    CHECK(mkdtemp(directory) != NULL && chmod(directory, 0755) == 0);
    snprintf(path, sizeof path, "%s/copy", directory);
    CHECK(copy_program(path, 0));
    CHECK_EQUAL(run_copy(path, false), 0);
    CHECK_TEXT(said, "");
}

TEST(a_process_with_more_rights_trusts_neither_the_environment_nor_its_user)
{
    bool copied = copy_program(path, geteuid() == 0 ? S_ISUID : S_ISGID);
    int status = copied ? run_copy(path, true) : NOT_SECURE;
    unlink(path);
    rmdir(directory);
    TEST_SKIP_IF(status == NOT_SECURE, "no setuid or setgid program can be made here");
    CHECK_EQUAL(status, 0);
    CHECK_TEXT(said, "<hew>: control, prof and conf_file are ignored: the process has more rights than its user\n");
}
