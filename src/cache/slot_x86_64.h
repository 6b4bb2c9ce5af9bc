/* SPDX-License-Identifier: MIT */
/*
 * slot_x86_64: pop and push as restartable sequences.  `at` offsets: struct rseq has rseq_cs at 8, mm_cid at 24.
 *
 * A sequence begins by naming itself in rseq_cs; if the thread is preempted, migrated or signalled before the last
 * instruction, the kernel continues at 4, which begins anew.  Only the last instruction changes what others see.
 */
#ifndef HEW_CACHE_SLOT_X86_64_H
#define HEW_CACHE_SLOT_X86_64_H

#define HEW_SEQUENCE                                                                                                   \
    ".pushsection .data.rel.ro.hew_rseq, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"  \
    "5: leaq 3b(%%rip), %%rdx\n movq %%rdx, 8(%[area])\n"                                                     \
    "1: movl 24(%[area]), %%edx\n shlq $12, %%rdx\n addq %[base], %%rdx\n"                          \
    "movq %c[tops](%%rdx,%[code],8), %%rax\n"
#define HEW_SEQUENCE_END "2:\n .pushsection .text.hew_abort, \"ax\"\n .long 0x53053053\n 4: jmp 5b\n .popsection\n"
#define HEW_SEQUENCE_INPUTS                                                                                            \
    [code] "r"(code), [area] "r"(where->area), [base] "m"(where->base),                 \
        [tops] "i"(offsetof(struct hew_slot, top)), [begins] "i"(offsetof(struct hew_slot, begin)),                    \
        [limits] "i"(offsetof(struct hew_slot, limit))

/* The slot that the thread uses now; perhaps not any more when this returns. */
HEW_INLINE struct hew_slot *
hew_slot_here(const struct hew_where *where)
{
    uint32_t number;
    __asm__ volatile("movl 24(%[area]), %[number]" : [number] "=r"(number) : [area] "r"(where->area));
    return (struct hew_slot *)(where->base + ((size_t)number << HEW_LG_SLOT));
}

/* The newest object, which stays; NULL: none.  Its array cannot be given back in the middle. */
HEW_INLINE void *
hew_slot_peek(const struct hew_where *where, size_t code)
{
    void *object;
    __asm__ volatile(HEW_SEQUENCE "cmpq %c[begins](%%rdx,%[code],8), %%rax\n jbe 6f\n"
                                  "movq -8(%%rax), %%rax\n" HEW_SEQUENCE_END
                                  ".pushsection .text.hew_abort, \"ax\"\n 6: xorl %%eax, %%eax\n jmp 2b\n .popsection\n"
                     : "=&a"(object)
                     : HEW_SEQUENCE_INPUTS
                     : "rdx", "memory", "cc");
    return object;
}

/* Without a jump to C: compilers get `asm goto` with outputs wrong. */
HEW_INLINE void *
hew_slot_pop(const struct hew_where *where, size_t code)
{
    void *object;
    __asm__ volatile(HEW_SEQUENCE "cmpq %c[begins](%%rdx,%[code],8), %%rax\n jbe 6f\n"
                                  "movq -8(%%rax), %%rax\n subq $8, %c[tops](%%rdx,%[code],8)\n" HEW_SEQUENCE_END
                                  ".pushsection .text.hew_abort, \"ax\"\n 6: xorl %%eax, %%eax\n jmp 2b\n .popsection\n"
                     : "=&a"(object)
                     : HEW_SEQUENCE_INPUTS
                     : "rdx", "memory", "cc");
    return object;
}

HEW_INLINE int
hew_slot_push(const struct hew_where *where, size_t code, void *object)
{
    __asm__ volatile goto(HEW_SEQUENCE "cmpq %c[limits](%%rdx,%[code],8), %%rax\n jae %l[full]\n"
                                       "cmpq %[object], -8(%%rax)\n je %l[twice]\n"
                                       "movq %[object], (%%rax)\n addq $8, %c[tops](%%rdx,%[code],8)\n" //
                          HEW_SEQUENCE_END
                          : 
                          : HEW_SEQUENCE_INPUTS, [object] "r"(object)
                          : "rax", "rdx", "memory", "cc"
                          : full, twice);
    return HEW_PUSH_DONE;
full:
    return HEW_PUSH_FULL;
twice:
    return HEW_PUSH_TWICE;
}

#endif
