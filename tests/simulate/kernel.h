/* SPDX-License-Identifier: MIT */
/*
 * kernel: the system under the library: its calls, and what of them may be refused.
 *
 * Owns      the simulated address space: KERNEL_BYTES of true, reserved addresses at a fixed place, and a table of what the
 *           program has mapped there.  What is mapped is true memory with true protection, so a touch of what is not ends
 *           the run.
 * Promises  results are those of Linux: a value, or -errno.
 */
#ifndef HEW_SIMULATE_KERNEL_H
#define HEW_SIMULATE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_PAGE ((size_t)4096) /* of the true system; the simulated one has kernel_habits.page */
#define KERNEL_BASE UINT64_C(0x200000000000)
#define KERNEL_BYTES ((size_t)1 << 38)
#define KERNEL_MAPPINGS_MOST 30000 /* the true limit, 65530, is also that of this process */

enum kernel_call {
    KERNEL_MMAP,
    KERNEL_MUNMAP, /* only where it needs one more mapping, as on Linux */
    KERNEL_MPROTECT,
    KERNEL_MADVISE,
    KERNEL_MADVISE_RANGES,
    KERNEL_MREMAP,
    KERNEL_MINCORE,
    KERNEL_BRK,
    KERNEL_FUTEX, /* returns at once */
    KERNEL_THREAD,
    KERNEL_FILE,
    KERNEL_CALLS
};

struct kernel_habits {
    uint16_t refuses[KERNEL_CALLS]; /* of 65536 calls */
    size_t page;
    unsigned mappings_most;
    size_t bytes_most; /* RLIMIT_AS */
    bool knows_ranges, knows_lazily, knows_fences, from_below, anywhere;
    bool loses_place; /* a refused mremap has unmapped the new place */
    unsigned processors, quota;
};

extern struct kernel_habits kernel_habits, kernel_habits_drawn; /* now; as the seed says, while all are at rest */
extern uint64_t kernel_refusals[KERNEL_CALLS];                  /* so far */
extern uint64_t kernel_refused_memory; /* of them, and by limits: those after which malloc may fail */

void kernel_boot(void);

/* Whether this call is refused. */
bool kernel_refuses(enum kernel_call call);

/* What the program has mapped: bytes, and those that are resident and writable. */
size_t kernel_mapped(void);
size_t kernel_resident(void);
size_t kernel_writable(void); /* mapped, and may be written; without the data segment, which cannot go back */
unsigned kernel_mappings(void);

/* Prints what is mapped. */
void kernel_say(void);

/* kernel_memory.c: each as the system call of that name. */
long kernel_mmap(uintptr_t address, size_t size, int protection, int flags);
long kernel_munmap(uintptr_t address, size_t size);
long kernel_mprotect(uintptr_t address, size_t size, int protection);
long kernel_madvise(uintptr_t address, size_t size, int advice);
long kernel_mremap(uintptr_t from, size_t size, size_t new_size, int flags, uintptr_t to);
long kernel_mincore(uintptr_t address, size_t size, unsigned char *pages);
uintptr_t kernel_brk(uintptr_t to);

#endif
