/* SPDX-License-Identifier: MIT */
/*
 * syscall: system calls without libc.  errno stays as the program left it, and an interposed mmap, madvise or write
 * never calls back into the allocator.
 *
 * Promises  Returns the kernel's own result: a value, or -errno.  Thread-safe, async-signal-safe.
 */
#ifndef HEW_OS_SYSCALL_H
#define HEW_OS_SYSCALL_H

#include "base/compiler.h"

#include <errno.h>
#include <sys/syscall.h>

HEW_INLINE long
hew_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
#else
#error "hew knows x86-64 and aarch64 Linux"
#endif
}

#define hew_syscall1(number, a) hew_syscall6((number), (long)(a), 0, 0, 0, 0, 0)
#define hew_syscall2(number, a, b) hew_syscall6((number), (long)(a), (long)(b), 0, 0, 0, 0)
#define hew_syscall3(number, a, b, c) hew_syscall6((number), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define hew_syscall4(number, a, b, c, d) hew_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define hew_syscall5(number, a, b, c, d, e)                                                                            \
    hew_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#endif
