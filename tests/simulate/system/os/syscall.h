/* SPDX-License-Identifier: MIT */
/*
 * syscall: in the place of src/os/syscall.h when the library is compiled for the simulator: every system call of the
 * library, whichever file makes it, arrives at the simulated kernel (kernel.c).
 */
#ifndef HEW_OS_SYSCALL_H
#define HEW_OS_SYSCALL_H

#include <errno.h>
#include <sys/syscall.h>

/* The kernel's result: a value, or -errno. */
long simulated_system_call(long number, const long *arguments);

#define hew_syscall6(number, a, b, c, d, e, f)                                                                         \
    simulated_system_call(number, (const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)})
#define hew_syscall1(number, a) hew_syscall6(number, a, 0, 0, 0, 0, 0)
#define hew_syscall2(number, a, b) hew_syscall6(number, a, b, 0, 0, 0, 0)
#define hew_syscall3(number, a, b, c) hew_syscall6(number, a, b, c, 0, 0, 0)
#define hew_syscall4(number, a, b, c, d) hew_syscall6(number, a, b, c, d, 0, 0)
#define hew_syscall5(number, a, b, c, d, e) hew_syscall6(number, a, b, c, d, e, 0)

#endif
