/* SPDX-License-Identifier: MIT */
#include "os/fault.h"

#include "os/syscall.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

static struct {
    uintptr_t begin, end;
    void (*seen)(const struct hew_fault *fault);
    struct sigaction before;
} watch; /* written before the action is set */

static struct hew_fault
describe(const siginfo_t *info, const ucontext_t *context)
{
    struct hew_fault fault = {.address = (uintptr_t)info->si_addr, .access = HEW_FAULT_UNKNOWN};
#if defined(__x86_64__)
    const greg_t *registers = context->uc_mcontext.gregs;
    fault.pc = (uintptr_t)registers[REG_RIP];
    fault.sp = (uintptr_t)registers[REG_RSP];
    fault.access = (registers[REG_ERR] & 2) != 0 ? HEW_FAULT_WRITE : HEW_FAULT_READ; /* the page fault's error code */
#elif defined(__aarch64__)
    fault.pc = context->uc_mcontext.pc;
    fault.sp = context->uc_mcontext.sp;
#endif
    return fault;
}

/* Without an action of the program the signal ends the process: a fault repeats itself as soon as the handler returns,
 * and what another process sent is sent again. */
static void
end_by_default(int number, const siginfo_t *info)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(number, &usual, NULL);
    if (info->si_code <= 0) {
        long process = hew_syscall1(SYS_getpid, 0), thread = hew_syscall1(SYS_gettid, 0);
        hew_syscall3(SYS_tgkill, process, thread, number);
    }
}

static void
pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &watch.before;
    if ((before->sa_flags & SA_SIGINFO) != 0) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler == SIG_DFL || (before->sa_handler == SIG_IGN && info->si_code > 0)) {
        end_by_default(number, info);
    } else if (before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    }
}

static void
fault_handler(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code > 0 && address >= watch.begin && address < watch.end) {
        struct hew_fault fault = describe(info, context);
        watch.seen(&fault);
    }
    errno = saved;
    pass_on(number, info, context);
}

bool
hew_fault_watch(uintptr_t begin, uintptr_t end, void (*seen)(const struct hew_fault *fault))
{
    watch.begin = begin;
    watch.end = end;
    watch.seen = seen;
    if (sigaction(SIGSEGV, NULL, &watch.before) != 0) {
        return false;
    }
    struct sigaction action = watch.before; /* with its mask */
    action.sa_sigaction = fault_handler;
    action.sa_flags = (watch.before.sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGSEGV, &action, NULL) == 0;
}
