/* SPDX-License-Identifier: MIT */
/* Unit tests of os/syscall: the kernel's own answers, with errno left alone. */
#include "os/syscall.h"

#include "test.h"

#include <sys/mman.h>
#include <unistd.h>

TEST(a_good_call_gives_the_kernels_value)
{
    CHECK_EQUAL(hew_syscall1(SYS_getppid, 0), getppid());
}

TEST(a_bad_call_gives_the_negative_error_and_keeps_errno)
{
    errno = 7;
    CHECK(hew_syscall1(SYS_close, -1) == -EBADF);
    CHECK_EQUAL(errno, 7);
}

TEST(all_six_arguments_arrive)
{
    long got = hew_syscall6(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(got > 0);
    CHECK(hew_syscall6(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, 1 << 30, 0) == -EBADF);
    CHECK(hew_syscall6(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1) == -EINVAL);
    CHECK(hew_syscall2(SYS_munmap, got, 4096) == 0);
}
