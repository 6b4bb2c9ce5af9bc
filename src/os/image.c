/* SPDX-License-Identifier: MIT */
#include "os/image.h"

#include "base/bits.h"
#include "base/size_class.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

struct image {
    _Atomic uintptr_t low, high; /* high is written last: 0 = not known yet */
};

/* Fills in the bounds of the ELF file mapped at `base`. */
static void
measure(struct image *image, uintptr_t base)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(base + header->e_phoff);
    uintptr_t end = base;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD && base + segment[i].p_vaddr + segment[i].p_memsz > end) {
            end = base + segment[i].p_vaddr + segment[i].p_memsz;
        }
    }
    atomic_store_explicit(&image->low, base, memory_order_relaxed);
    atomic_store_explicit(&image->high, end, memory_order_release);
}

/* The start of the file that `code` was loaded from: its pages are mapped without a gap from there. */
static uintptr_t
base_of(const void *code)
{
    uintptr_t page = hew_bits_round_down((uintptr_t)code, HEW_PAGE);
    while (memcmp((const void *)page, ELFMAG, SELFMAG) != 0) {
        page -= HEW_PAGE;
    }
    return page;
}

static bool
contains(struct image *image, uintptr_t address)
{
    uintptr_t high = atomic_load_explicit(&image->high, memory_order_acquire);
    return address < high && address >= atomic_load_explicit(&image->low, memory_order_relaxed);
}

bool
hew_image_is_static(void)
{
    return getauxval(AT_BASE) == 0;
}

bool
hew_image_is_libc(const void *code)
{
    static struct image libc, loader;
    if (atomic_load_explicit(&loader.high, memory_order_acquire) == 0 && !hew_image_is_static()) {
        measure(&libc, base_of((const void *)(uintptr_t)pthread_attr_setstacksize));
        measure(&loader, getauxval(AT_BASE));
    }
    return contains(&libc, (uintptr_t)code) || contains(&loader, (uintptr_t)code);
}
