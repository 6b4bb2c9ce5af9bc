/* SPDX-License-Identifier: MIT */
/* locked: mlockall() as the library exports it, and what it asks of the address map first. */
#include "os/memory.h"
#include "test.h"

#include "fakes/child.h"
#include "fakes/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)

static size_t
mapped_mib(void)
{
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
    close(file);
    return strtoul(text, NULL, 10) / (MIB / 4096);
}

static void
use_memory(void)
{
    static char *objects[1000];
    for (size_t i = 0; i < 1000; i++) {
        objects[i] = malloc(i * 50 + 1);
        CHECK(objects[i] != NULL);
        objects[i][i * 50] = 1;
    }
    for (size_t i = 0; i < 1000; i++) {
        CHECK(objects[i][i * 50] == 1);
        free(objects[i]);
    }
}

/* As for a process without privilege, for which all that is mapped counts. */
static void
lock_beyond_the_limit(void)
{
    const struct rlimit limit = {MIB, MIB};
    use_memory();
    CHECK(mapped_mib() > 8192);
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    faults_refuse("mlockall", 0, 1);
    int result = mlockall(MCL_CURRENT);
    CHECK_EQUAL(faults_asked, 2); /* again, with less */
    faults_end();
    CHECK(result == 0 || errno == ENOMEM || errno == EPERM); /* as the user may */
    CHECK(mapped_mib() < 256);
    munlockall();
    use_memory();
}

TEST(what_is_only_reserved_goes_when_it_is_too_much_to_lock)
{
    CHECK_EQUAL(child_run(lock_beyond_the_limit).status, 0);
}

static void
lock_nothing(void)
{
    use_memory();
    size_t before = mapped_mib();
    errno = 0;
    CHECK(mlockall(0) == -1 && errno == EINVAL);
    CHECK(mlockall(1 << 20) == -1 && errno == EINVAL);
    CHECK_EQUAL(mapped_mib(), before);
}

TEST(flags_that_mean_nothing_are_refused_and_the_map_stays)
{
    CHECK_EQUAL(child_run(lock_nothing).status, 0);
}
