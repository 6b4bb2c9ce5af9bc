/* SPDX-License-Identifier: MIT */
/* vdso: the first call of each function searches the vdso's symbol table; see vdso.h. */
#include "os/vdso.h"

#include "os/environment.h"
#include "os/syscall.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

typedef int (*time_function)(clockid_t clock, struct timespec *time);
typedef int (*processor_function)(unsigned *processor, unsigned *node, void *unused);

#if defined(__x86_64__)
#define TIME_NAME "__vdso_clock_gettime"
#define PROCESSOR_NAME "__vdso_getcpu"
#elif defined(__aarch64__)
#define TIME_NAME "__kernel_clock_gettime"
#define PROCESSOR_NAME "" /* it has none */
#endif

struct object {
    uintptr_t base; /* the difference between loaded and linked addresses */
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash, *gnu_hash; /* NULL: it has none */
};

static void
read_dynamic(struct object *object, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *there = (const void *)(object->base + entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            object->symbols = there;
            break;
        case DT_STRTAB:
            object->names = there;
            break;
        case DT_HASH:
            object->hash = there;
            break;
        case DT_GNU_HASH:
            object->gnu_hash = there;
            break;
        default:
            break;
        }
    }
}

static bool
find_object(struct object *object)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)hew_environment_auxiliary(AT_SYSINFO_EHDR);
    const ElfW(Phdr) *load = NULL, *dynamic = NULL;
    if (header == NULL) {
        return false;
    }
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)((uintptr_t)header + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        load = parts[i].p_type == PT_LOAD && load == NULL ? &parts[i] : load;
        dynamic = parts[i].p_type == PT_DYNAMIC ? &parts[i] : dynamic;
    }
    if (load == NULL || dynamic == NULL) {
        return false;
    }
    *object = (struct object){.base = (uintptr_t)header + load->p_offset - load->p_vaddr};
    read_dynamic(object, (const ElfW(Dyn) *)(object->base + dynamic->p_vaddr));
    return object->symbols != NULL && object->names != NULL;
}

/* Returns the number of symbols, from either hash table: newer kernels write only the GNU one. */
static uint32_t
count_symbols(const struct object *object)
{
    if (object->hash != NULL) {
        return object->hash[1];
    }
    if (object->gnu_hash == NULL) {
        return 0;
    }
    const uint32_t *table = object->gnu_hash;
    uint32_t buckets_count = table[0], first = table[1], last = 0;
    const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof *table);
    const uint32_t *chains = buckets + buckets_count;
    for (uint32_t i = 0; i < buckets_count; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    while (last >= first && (chains[last - first] & 1) == 0) {
        last++;
    }
    return last + 1;
}

/* Returns the function's address; 0: the kernel does not have it. */
static HEW_COLD uintptr_t
find_function(const char *name)
{
    struct object object = {0};
    uint32_t count = find_object(&object) ? count_symbols(&object) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &object.symbols[i];
        if (symbol->st_shndx != SHN_UNDEF && strcmp(object.names + symbol->st_name, name) == 0) {
            return object.base + symbol->st_value;
        }
    }
    return 0;
}

static int
time_by_call(clockid_t clock, struct timespec *time)
{
    return (int)hew_syscall2(SYS_clock_gettime, clock, time);
}

static int
processor_by_call(unsigned *processor, unsigned *node, void *unused)
{
    return (int)hew_syscall3(SYS_getcpu, processor, node, NULL);
}

/* Both relaxed: a thread that sees NULL searches again and finds the same. */
static _Atomic(time_function) tell_time;
static _Atomic(processor_function) tell_processor;

static HEW_COLD time_function
find_time(void)
{
    time_function found = (time_function)find_function(TIME_NAME);
    found = found == NULL ? time_by_call : found;
    atomic_store_explicit(&tell_time, found, memory_order_relaxed);
    return found;
}

static HEW_COLD processor_function
find_processor(void)
{
    processor_function found = (processor_function)find_function(PROCESSOR_NAME);
    found = found == NULL ? processor_by_call : found;
    atomic_store_explicit(&tell_processor, found, memory_order_relaxed);
    return found;
}

void
hew_vdso_time(clockid_t clock, struct timespec *time)
{
    time_function tell = atomic_load_explicit(&tell_time, memory_order_relaxed);
    *time = (struct timespec){0};
    (HEW_LIKELY(tell != NULL) ? tell : find_time())(clock, time);
}

unsigned
hew_vdso_processor(void)
{
    processor_function tell = atomic_load_explicit(&tell_processor, memory_order_relaxed);
    unsigned processor = 0;
    (HEW_LIKELY(tell != NULL) ? tell : find_processor())(&processor, NULL, NULL);
    return processor;
}
