/* SPDX-License-Identifier: MIT */
/*
 * hooked_calls_library: takes the place of every function that libhew.so imports, and allocates before it goes on to the true one, as
 * sandboxes, tracers and fake clocks do.  HOOKED in the environment names the function that allocates, or is "all".
 *
 * A hook knows nothing of its function: it keeps every register that may hold an argument, and jumps.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

extern char **environ;

static const char *const names[] = {
#define HOOK(index, name) #name,
#include "hooked_calls.list"
#undef HOOK
};
enum { NAMES = sizeof names / sizeof names[0] };
static _Atomic(void *) true_ones[NAMES];
_Atomic unsigned hooked_calls; /* the program reads it */

/* No function of libc: it may be hooked. */
static int
is_same(const char *one, const char *other, char end)
{
    while (*one != '\0' && *one == *other) {
        one++;
        other++;
    }
    return *one == '\0' && *other == end;
}

static const char *
find_hooked(void)
{
    static const char none[] = "";
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (is_same("HOOKED", *entry, '=')) {
            return *entry + sizeof "HOOKED";
        }
    }
    return none;
}

static void
allocate(const char *name)
{
    volatile char *note = malloc(100); /* volatile: no memset() is made of the loop */
    if (note == NULL) {
        return;
    }
    for (size_t i = 0; i < 100; i++) {
        note[i] = name[0];
    }
    volatile char *more = realloc((void *)note, 5000);
    if (more != NULL && more[99] != name[0]) {
        abort();
    }
    free(more == NULL ? (void *)note : (void *)more);
    free(calloc(3, 1000));
}

static void *
find_true(const char *name)
{
    typedef void *(*search)(void *, const char *);
    search find = (search)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    find = find != NULL ? find : (search)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    find = find != NULL ? find : (search)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
    return find(RTLD_NEXT, name);
}

__attribute__((used, visibility("hidden"))) void *hooked_enter(unsigned index);

void *
hooked_enter(unsigned index)
{
    const char *hooked = find_hooked(), *name = names[index];
    if (is_same("all", hooked, '\0') || is_same(name, hooked, '\0')) {
        atomic_fetch_add(&hooked_calls, 1);
        allocate(name);
    }
    void *found = atomic_load(&true_ones[index]);
    if (found == NULL) {
        found = find_true(name);
        atomic_store(&true_ones[index], found);
    }
    return found;
}

#if defined(__x86_64__)
#define HOOK(index, name)                                                                                              \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "push %rbp\nmov %rsp, %rbp\npush %rax\npush %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\n"   \
            "sub $136, %rsp\nmovups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\n"                   \
            "movups %xmm3, 48(%rsp)\nmovups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\nmovups %xmm6, 96(%rsp)\n"         \
            "movups %xmm7, 112(%rsp)\nmov $" #index ", %edi\ncall hooked_enter\nmov %rax, %r11\n"                      \
            "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\nmovups 48(%rsp), %xmm3\n"           \
            "movups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\nmovups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"        \
            "add $136, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\npop %rax\npop %rbp\n"           \
            "jmp *%r11\n.size " #name ", .-" #name "\n");
#elif defined(__aarch64__)
#define HOOK(index, name)                                                                                              \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"                                        \
            "stp x29, x30, [sp, -224]!\nmov x29, sp\nstp x0, x1, [sp, 16]\nstp x2, x3, [sp, 32]\n"                     \
            "stp x4, x5, [sp, 48]\nstp x6, x7, [sp, 64]\nstr x8, [sp, 80]\nstp q0, q1, [sp, 96]\n"                     \
            "stp q2, q3, [sp, 128]\nstp q4, q5, [sp, 160]\nstp q6, q7, [sp, 192]\nmov w0, " #index "\n"                \
            "bl hooked_enter\nmov x16, x0\nldp x0, x1, [sp, 16]\nldp x2, x3, [sp, 32]\nldp x4, x5, [sp, 48]\n"         \
            "ldp x6, x7, [sp, 64]\nldr x8, [sp, 80]\nldp q0, q1, [sp, 96]\nldp q2, q3, [sp, 128]\n"                    \
            "ldp q4, q5, [sp, 160]\nldp q6, q7, [sp, 192]\nldp x29, x30, [sp], 224\nbr x16\n"                          \
            ".size " #name ", .-" #name "\n");
#endif
#include "hooked_calls.list"
