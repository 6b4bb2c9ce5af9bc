/* SPDX-License-Identifier: MIT */
/*
 * vfork: the system's vfork.  A child that runs on its parent's memory allocates without the parent's cache.
 *
 * Why  The system knows the child by no registered area for restartable sequences.  The child would read its parent's
 *      number from the parent's area, and meanwhile a running thread may have that number: both would change one slot
 *      (cache/slot.h).  So the cache is set aside before the system is called, and taken up again in the parent.
 *
 * What fork() and posix_spawn() start is safe: the former has memory and a number of its own, the latter never
 * allocates.
 */
#include "api/boot.h"
#include "cache/thread.h"
#include "os/syscall.h"

#include <errno.h>
#include <unistd.h>

HEW_HIDDEN int hew_vfork_return(long result);
extern HEW_HIDDEN const char hew_vfork_own[]; /* the function below; `vfork` is the one that the program finds first */

bool
hew_vfork_is_ours(void)
{
    return (uintptr_t)vfork == (uintptr_t)hew_vfork_own;
}

/* In the parent, or where the system has refused. */
int
hew_vfork_return(long result)
{
    hew_thread_take_up();
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return (int)result;
}

/*
 * The child returns first and overwrites the stack below its caller's frame, so the return address waits in a register,
 * which the system keeps.  Where processors check returns (shadow stacks), the child has used up the entry of this
 * call: both jump to their caller.
 */
__asm__(".pushsection .text.vfork, \"ax\"\n"
        ".globl vfork\n.type vfork, @function\n.globl hew_vfork_own\n.hidden "
        "hew_vfork_own\nhew_vfork_own:\nvfork:\n.cfi_startproc\n"
        "endbr64\n"
        "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "call hew_thread_set_aside\n"
        "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "popq %rdi\n.cfi_adjust_cfa_offset -8\n.cfi_register %rip, %rdi\n"
        "movl $58, %eax\n" /* vfork */
        "syscall\n"
        "pushq %rdi\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rip, -8\n"
        "testl %eax, %eax\nje 1f\n"
        "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "movq %rax, %rdi\n"
        "call hew_vfork_return\n"
        "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "1: xorl %edx, %edx\nrdsspq %rdx\n"
        "testq %rdx, %rdx\njne 2f\n"
        "ret\n"
        "2: movl $1, %edx\nincsspq %rdx\n"
        "popq %rdx\n.cfi_adjust_cfa_offset -8\n.cfi_register %rip, %rdx\n"
        "jmp *%rdx\n"
        ".cfi_endproc\n.size vfork, . - vfork\n.popsection\n");
