/* SPDX-License-Identifier: MIT */
/* slots: see slots.h.  The loader's relocation tables list where an object stores a function's address. */
#include "record/slots.h"

#include "os/syscall.h"
#include "record/next.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOBAL = R_X86_64_GLOB_DAT, ADDRESS = R_X86_64_64 };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOBAL = R_AARCH64_GLOB_DAT, ADDRESS = R_AARCH64_ABS64 };
#else
#error "which relocations have a function's address?"
#endif

#define FUNCTIONS(FUNCTION)                                                                                            \
    FUNCTION(malloc)                                                                                                   \
    FUNCTION(free)                                                                                                     \
    FUNCTION(cfree)                                                                                                    \
    FUNCTION(calloc)                                                                                                   \
    FUNCTION(realloc)                                                                                                  \
    FUNCTION(reallocarray)                                                                                             \
    FUNCTION(memalign)                                                                                                 \
    FUNCTION(aligned_alloc)                                                                                            \
    FUNCTION(posix_memalign)                                                                                           \
    FUNCTION(valloc)                                                                                                   \
    FUNCTION(dlclose)                                                                                                  \
    FUNCTION(pvalloc)                                                                                                  \
    FUNCTION(_Znwm)                                                                                                    \
    FUNCTION(_Znam)                                                                                                    \
    FUNCTION(_ZnwmRKSt9nothrow_t)                                                                                      \
    FUNCTION(_ZnamRKSt9nothrow_t)                                                                                      \
    FUNCTION(_ZnwmSt11align_val_t)                                                                                     \
    FUNCTION(_ZnamSt11align_val_t)                                                                                     \
    FUNCTION(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                                       \
    FUNCTION(_ZnamSt11align_val_tRKSt9nothrow_t)                                                                       \
    FUNCTION(_ZdlPv)                                                                                                   \
    FUNCTION(_ZdaPv)                                                                                                   \
    FUNCTION(_ZdlPvm)                                                                                                  \
    FUNCTION(_ZdaPvm)                                                                                                  \
    FUNCTION(_ZdlPvRKSt9nothrow_t)                                                                                     \
    FUNCTION(_ZdaPvRKSt9nothrow_t)                                                                                     \
    FUNCTION(_ZdlPvSt11align_val_t)                                                                                    \
    FUNCTION(_ZdaPvSt11align_val_t)                                                                                    \
    FUNCTION(_ZdlPvmSt11align_val_t)                                                                                   \
    FUNCTION(_ZdaPvmSt11align_val_t)                                                                                   \
    FUNCTION(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                                      \
    FUNCTION(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* Only their addresses are needed, so the types do not matter.  The linker binds these names to this library
 * (-Bsymbolic-functions). */
#define DECLARE(name) extern char ours_##name[] __asm__(#name);
FUNCTIONS(DECLARE)

static struct function {
    const char *name;
    uintptr_t ours, next; /* next: 0 when the allocator does not have it */
} functions[] = {
#define ROW(name) {#name, (uintptr_t)ours_##name, 0},
    FUNCTIONS(ROW)};

#define EACH_FUNCTION(function)                                                                                        \
    for (struct function *function = functions; function < functions + sizeof functions / sizeof *functions; function++)

struct object {
    uintptr_t base, begin, end;       /* begin .. end: its mapped range */
    uintptr_t fixed_begin, fixed_end; /* the range that the loader has made read-only */
    const ElfW(Sym) * symbols;
    const char *names;
};

struct pass {
    bool give;
    bool refused; /* the program has its own address for a function: see slots_of() */
    long changed;
};

/* The loader has relocated some of these addresses, and left others as they are in the file. */
static uintptr_t
absolute(const struct object *object, uintptr_t pointer)
{
    return pointer < object->base ? pointer + object->base : pointer;
}

static bool
holds(const struct object *object, uintptr_t address)
{
    return address >= object->begin && address < object->end;
}

/* Stores the word.  If its page is read-only, the page is made writable before and read-only after. */
static bool
store(const struct object *object, uintptr_t *word, uintptr_t value)
{
    uintptr_t page = (uintptr_t)word & ~(uintptr_t)4095;
    bool fixed = (uintptr_t)word >= object->fixed_begin && (uintptr_t)word < object->fixed_end;

    if (fixed && hew_syscall3(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    if (fixed) {
        hew_syscall3(SYS_mprotect, page, 4096, PROT_READ);
    }
    return true;
}

/* Whether the word leads to the interposed function: by its address, or by a stub in its own object that will resolve
 * it. */
static bool
calls_next(const struct object *object, unsigned kind, uintptr_t value, uintptr_t next)
{
    return value == next || (kind == JUMP_SLOT && holds(object, value) && !holds(object, next));
}

static void
slots_of(struct pass *pass, const struct object *object, const ElfW(Rela) * at, size_t bytes)
{
    for (const ElfW(Rela) *end = at + bytes / sizeof *at; at < end; at++) {
        unsigned kind = (unsigned)ELF64_R_TYPE(at->r_info);
        if ((kind != JUMP_SLOT && kind != GLOBAL && kind != ADDRESS) || at->r_addend != 0) {
            continue;
        }
        const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(at->r_info)];
        const char *name = object->names + symbol->st_name;
        uintptr_t *word = (uintptr_t *)(object->base + at->r_offset);
        EACH_FUNCTION(function)
        {
            if (function->next == 0 || strcmp(name, function->name) != 0) {
                continue;
            }
            /* A program that is not position-independent and takes the address: every object then sees its stub
             * there. */
            pass->refused = pass->refused || (symbol->st_shndx == SHN_UNDEF && symbol->st_value != 0);
            uintptr_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
            bool wanted = pass->give ? value == function->ours : calls_next(object, kind, value, function->next);
            uintptr_t becomes = pass->give ? function->next : function->ours;
            pass->changed += wanted && !pass->refused && store(object, word, becomes);
        }
    }
}

/* Processes the tables listed in PT_DYNAMIC. */
static void
look_at_tables(struct pass *pass, struct object *object, const ElfW(Dyn) * entry)
{
    uintptr_t lazy = 0, other = 0;
    size_t lazy_bytes = 0, other_bytes = 0;
    bool rela = true;

    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr;
        object->symbols = entry->d_tag == DT_SYMTAB ? (const ElfW(Sym) *)absolute(object, value) : object->symbols;
        object->names = entry->d_tag == DT_STRTAB ? (const char *)absolute(object, value) : object->names;
        lazy = entry->d_tag == DT_JMPREL ? absolute(object, value) : lazy;
        lazy_bytes = entry->d_tag == DT_PLTRELSZ ? value : lazy_bytes;
        other = entry->d_tag == DT_RELA ? absolute(object, value) : other;
        other_bytes = entry->d_tag == DT_RELASZ ? value : other_bytes;
        rela = rela && (entry->d_tag != DT_PLTREL || value == DT_RELA);
    }
    if (object->symbols != NULL && object->names != NULL && rela) {
        slots_of(pass, object, (const ElfW(Rela) *)lazy, lazy == 0 ? 0 : lazy_bytes);
        slots_of(pass, object, (const ElfW(Rela) *)other, other == 0 ? 0 : other_bytes);
    }
}

static int
look_at_object(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct object object = {.base = info->dlpi_addr, .begin = UINTPTR_MAX};
    const ElfW(Dyn) *dynamic = NULL;
    struct pass *pass = argument;

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (part->p_type == PT_LOAD) {
            object.begin = begin < object.begin ? begin : object.begin;
            object.end = end > object.end ? end : object.end;
        } else if (part->p_type == PT_GNU_RELRO) {
            object.fixed_begin = begin;
            object.fixed_end = end;
        } else if (part->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)begin;
        }
    }
    /* Skip this library.  An allocator that is a library calls itself through names that are not exported. */
    if (dynamic != NULL && !holds(&object, (uintptr_t)functions)) {
        look_at_tables(pass, &object, dynamic);
    }
    return pass->refused;
}

long
hew_slots_take(void)
{
    struct pass pass = {.give = false};

    EACH_FUNCTION(function)
    {
        uintptr_t found = (uintptr_t)hew_next_named(function->name);
        function->next = found == function->ours ? 0 : found;
    }
    dl_iterate_phdr(look_at_object, &pass);
    return pass.refused ? -1 : pass.changed;
}

void
hew_slots_give(void)
{
    struct pass pass = {.give = true};

    dl_iterate_phdr(look_at_object, &pass);
}
