/* SPDX-License-Identifier: MIT */
/*
 * registers: the state of a stack frame, for each processor.
 *
 * A frame is its program counter, its stack pointer and the callee-saved registers.  The return address counts as one
 * of these registers, because the unwind tables treat it so.
 * Not here  The step from a frame to its caller: prof/unwind.h.
 */
#ifndef HEW_OS_REGISTERS_H
#define HEW_OS_REGISTERS_H

#include "base/compiler.h"

#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__)
enum { HEW_KEPT_FRAME = 1, HEW_KEPT_RETURN = 6, HEW_KEPT = 7 }; /* rbx rbp r12 r13 r14 r15, return address */
#define HEW_DWARF_STACK 7
#define HEW_HANDLER_END UINT64_C(0) /* the unwind tables describe it */
#elif defined(__aarch64__)
enum { HEW_KEPT_FRAME = 10, HEW_KEPT_RETURN = 11, HEW_KEPT = 12 }; /* x19 to x29, x30 */
#define HEW_DWARF_STACK 31
/* The instructions that end a signal handler: mov x8, 139 (rt_sigreturn) and svc 0.  The kernel's unwind tables do not
 * describe them. */
#define HEW_HANDLER_END UINT64_C(0xd4000001d2801168)
#endif

struct hew_registers {
    uintptr_t pc, sp;
    uintptr_t kept[HEW_KEPT];
};

/* Returns the index in `kept` of a register with this DWARF number; -1: none. */
HEW_INLINE int
hew_registers_index(uint64_t dwarf)
{
#if defined(__x86_64__)
    static const int8_t indexes[17] = {-1, -1, -1, 0, -1, -1, 1, -1, -1, -1, -1, -1, 2, 3, 4, 5, 6};
    return dwarf < sizeof indexes ? indexes[dwarf] : -1;
#elif defined(__aarch64__)
    return dwarf >= 19 && dwarf <= 30 ? (int)dwarf - 19 : -1;
#endif
}

/* Captures the registers of the enclosing function; must be inlined. */
HEW_INLINE void
hew_registers_here(struct hew_registers *registers)
{
#if defined(__x86_64__)
    __asm__ volatile("leaq 0(%%rip), %%rax\n\tmovq %%rax, (%0)\n\tmovq %%rsp, 8(%0)\n\tmovq %%rbx, 16(%0)\n\t"
                     "movq %%rbp, 24(%0)\n\tmovq %%r12, 32(%0)\n\tmovq %%r13, 40(%0)\n\tmovq %%r14, 48(%0)\n\t"
                     "movq %%r15, 56(%0)"
                     :
                     : "r"(registers)
                     : "rax", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("adr x9, .\n\tmov x10, sp\n\tstp x9, x10, [%0]\n\tstp x19, x20, [%0, 16]\n\t"
                     "stp x21, x22, [%0, 32]\n\tstp x23, x24, [%0, 48]\n\tstp x25, x26, [%0, 64]\n\t"
                     "stp x27, x28, [%0, 80]\n\tstp x29, x30, [%0, 96]"
                     :
                     : "r"(registers)
                     : "x9", "x10", "memory");
#endif
}

/* `registers` points into the few instructions that end a signal handler.  Replaces them by the registers of the
 * interrupted code. */
HEW_INLINE void
hew_registers_before_signal(struct hew_registers *registers)
{
#if defined(__x86_64__)
    const greg_t *saved = ((const ucontext_t *)registers->sp)->uc_mcontext.gregs;
    static const uint8_t order[] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < sizeof order; i++) {
        registers->kept[i] = (uintptr_t)saved[order[i]];
    }
    registers->pc = (uintptr_t)saved[REG_RIP];
    registers->sp = (uintptr_t)saved[REG_RSP];
#elif defined(__aarch64__)
    const ucontext_t *context = (const ucontext_t *)(registers->sp + sizeof(siginfo_t));
    for (unsigned i = 0; i < HEW_KEPT; i++) {
        registers->kept[i] = context->uc_mcontext.regs[19 + i];
    }
    registers->pc = context->uc_mcontext.pc;
    registers->sp = context->uc_mcontext.sp;
#endif
}

/* `code` is the first eight bytes at a return address.  If that code only drops bytes from the stack and returns
 * (x86-64: add $N, %rsp; ret), returns the number of bytes.  -1: it does something else. */
HEW_INLINE int
hew_registers_dropped(uint64_t code)
{
#if defined(__x86_64__)
    unsigned bytes = (unsigned)(code >> 24) & 0xff;
    return (code & UINT64_C(0xff00ffffff)) == UINT64_C(0xc300c48348) && bytes < 0x80 && bytes % 8 == 0 ? (int)bytes
                                                                                                       : -1;
#else
    return -1; /* on aarch64 such code keeps frame pointers */
#endif
}

/* Removes the bits that pointer authentication puts above a return address. */
HEW_INLINE uintptr_t
hew_registers_address(uintptr_t value)
{
#if defined(__aarch64__)
    return value & ((UINT64_C(1) << HEW_LG_ADDRESS) - 1);
#else
    return value;
#endif
}

#endif
