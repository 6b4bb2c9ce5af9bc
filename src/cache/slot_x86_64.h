/* SPDX-License-Identifier: MIT */
/*
 * slot_x86_64: the operations on a slot as restartable sequences.  Offsets: struct rseq has rseq_cs at 8, mm_cid at 24.
 *
 * A sequence begins by naming itself in rseq_cs; if the thread is preempted, migrated or signalled before the last
 * instruction, the kernel continues at 4, which begins anew.  Only the last instruction, which stores `top`, changes what others
 * see.  It is a plain store of a value computed before: where it overwrites the 0 of a thread that closes the class from outside,
 * the class is as if it had not been closed yet, and that thread sees it.
 */
#ifndef HEW_CACHE_SLOT_X86_64_H
#define HEW_CACHE_SLOT_X86_64_H

#define HEW_SEQUENCE_BEGIN                                                                                             \
    ".pushsection .data.rel.ro.hew_rseq, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"  \
    "5: leaq 3b(%%rip), %%rdx\n movq %%rdx, 8(%[area])\n"                                                              \
    "1: "
#define HEW_SEQUENCE_SLOT "movl 24(%[area]), %%edx\n shlq $12, %%rdx\n addq %[base], %%rdx\n"
#define HEW_SEQUENCE(top) HEW_SEQUENCE_BEGIN HEW_SEQUENCE_SLOT "movq %c[tops](%%rdx,%[code],8), " top "\n"
#define HEW_SEQUENCE_END(top) "movq " top ", %c[tops](%%rdx,%[code],8)\n" HEW_SEQUENCE_OVER
#define HEW_SEQUENCE_OVER "2:\n .pushsection .text.hew_abort, \"ax\"\n .long 0x53053053\n 4: jmp 5b\n .popsection\n"
#define HEW_SEQUENCE_INPUTS                                                                                            \
    [code] "r"(code), [area] "r"(where->area), [base] "m"(where->base), [tops] "i"(offsetof(struct hew_slot, top))

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
    __asm__ volatile(HEW_SEQUENCE("%%rcx") "movq (%%rdx,%%rcx), %[object]\n" HEW_SEQUENCE_OVER
                     : [object] "=&r"(object)
                     : HEW_SEQUENCE_INPUTS
                     : "rcx", "rdx", "memory", "cc");
    return object;
}

/* Without a jump to C: compilers get `asm goto` with outputs wrong.  After a pop the zero flag still says "empty". */
HEW_INLINE void *
hew_slot_pop(const struct hew_where *where, size_t code)
{
    void *object;
    bool empty;
    __asm__ volatile(HEW_SEQUENCE("%%rcx") "movq (%%rdx,%%rcx), %[object]\n testq %[object], %[object]\n jz 2f\n"
                                           "leaq -8(%%rcx), %%rcx\n" HEW_SEQUENCE_END("%%rcx")
                     : [object] "=&a"(object), "=@ccz"(empty)
                     : HEW_SEQUENCE_INPUTS
                     : "rcx", "rdx", "memory");
    if (HEW_UNLIKELY(empty)) {
        return NULL;
    }
    if (object == NULL) {
        __builtin_unreachable();
    }
    return object;
}

HEW_INLINE int
hew_slot_push(const struct hew_where *where, size_t code, void *object)
{
    __asm__ volatile goto(
        HEW_SEQUENCE("%%rax") "cmpq $0, 8(%%rdx,%%rax)\n je %l[full]\n"
                              "cmpq %[object], (%%rdx,%%rax)\n je %l[twice]\n"
                              "movq %[object], 8(%%rdx,%%rax)\n addq $8, %%rax\n" HEW_SEQUENCE_END("%%rax")
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

/* Up to `most` of the newest leave, the last one to be used first.  Returns how many. */
HEW_INLINE unsigned
hew_slot_pop_some(const struct hew_where *where, size_t code, void **objects, size_t most)
{
    size_t count;
    __asm__ volatile(
        HEW_SEQUENCE("%%rax") "xorl %k[count], %k[count]\n testq %%rax, %%rax\n jz 2f\n"
                              "movq %%rax, %[count]\n subq %c[begins](%%rdx,%[code],8), %[count]\n"
                              "shrq $3, %[count]\n cmpq %[most], %[count]\n cmovaq %[most], %[count]\n"
                              "movq %[count], %%rcx\n negq %%rcx\n leaq (%%rax,%%rcx,8), %%rax\n"
                              "movq %[count], %%rcx\n movq %[objects], %%rdi\n leaq 8(%%rdx,%%rax), %%rsi\n"
                              "rep movsq\n" HEW_SEQUENCE_END("%%rax")
        : [count] "=&r"(count)
        : HEW_SEQUENCE_INPUTS, [begins] "i"(offsetof(struct hew_slot, begin)), [objects] "r"(objects), [most] "r"(most)
        : "rax", "rdx", "rcx", "rsi", "rdi", "memory", "cc");
    return (unsigned)count;
}

/* The first of `most` objects come in, as many as there is room for.  Returns how many. */
HEW_INLINE unsigned
hew_slot_push_some(const struct hew_where *where, size_t code, void *const *objects, size_t most)
{
    size_t count;
    __asm__ volatile(
        HEW_SEQUENCE("%%rax") "xorl %k[count], %k[count]\n testq %%rax, %%rax\n jz 2f\n"
                              "movq %c[limits](%%rdx,%[code],8), %[count]\n subq %%rax, %[count]\n"
                              "shrq $3, %[count]\n cmpq %[most], %[count]\n cmovaq %[most], %[count]\n"
                              "movq %[count], %%rcx\n movq %[objects], %%rsi\n leaq 8(%%rdx,%%rax), %%rdi\n"
                              "leaq (%%rax,%%rcx,8), %%rax\n"
                              "rep movsq\n" HEW_SEQUENCE_END("%%rax")
        : [count] "=&r"(count)
        : HEW_SEQUENCE_INPUTS, [limits] "i"(offsetof(struct hew_slot, limit)), [objects] "r"(objects), [most] "r"(most)
        : "rax", "rdx", "rcx", "rsi", "rdi", "memory", "cc");
    return (unsigned)count;
}

/* Closes a class of the slot where the thread uses it now; false: it uses another one.  No other thread is in the middle of a sequence
 * on it then. */
HEW_INLINE bool
hew_slot_close_here(const struct hew_where *where, struct hew_slot *slot, size_t code, uintptr_t *top)
{
    uintptr_t former; /* 1, which no top is: not closed */
    __asm__ volatile(HEW_SEQUENCE_BEGIN
                     "movl $1, %k[former]\n" HEW_SEQUENCE_SLOT "cmpq %%rdx, %[slot]\n jne 2f\n"
                     "movq %c[tops](%%rdx,%[code],8), %[former]\n xorl %%eax, %%eax\n" HEW_SEQUENCE_END("%%rax")
                     : [former] "=&r"(former)
                     : HEW_SEQUENCE_INPUTS, [slot] "r"(slot)
                     : "rax", "rdx", "memory", "cc");
    *top = former;
    return former != 1;
}

#endif
