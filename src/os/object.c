/* SPDX-License-Identifier: MIT */
#include "os/object.h"

#include "base/bits.h"
#include "base/size_class.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/futex.h"
#include "os/syscall.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>

struct search {
    uintptr_t address;
    struct hew_os_object *found;
};

static int
look_into(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    struct hew_os_object object = {UINTPTR_MAX, 0, NULL, info->dlpi_name};
    bool inside = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr, end = begin + header->p_memsz;
        if (header->p_type == PT_LOAD) {
            inside = inside || (search->address >= begin && search->address < end);
            object.begin = begin < object.begin ? begin : object.begin;
            object.end = end > object.end ? end : object.end;
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            object.unwind_index = (const uint8_t *)begin;
        }
    }
    if (inside) {
        *search->found = object;
    }
    return inside;
}

static bool loader_is_done;

__attribute__((constructor)) static void
note_loader_done(void)
{
    loader_is_done = true;
}

bool
hew_os_loader_is_done(void)
{
    return loader_is_done;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* The loader allocates while it sets up the data of _dl_find_object(), so no thread may call it before constructors
 * run. */
extern HEW_WEAK __typeof__(_dl_find_object) _dl_find_object;

static bool
find_without_lock(uintptr_t address, struct hew_os_object *object, bool *found)
{
    struct dl_find_object answer;
    if (_dl_find_object == NULL || !loader_is_done) {
        return false;
    }
    *found = _dl_find_object((void *)address, &answer) == 0;
    if (*found) {
        object->begin = (uintptr_t)answer.dlfo_map_start;
        object->end = (uintptr_t)answer.dlfo_map_end;
        object->unwind_index = answer.dlfo_eh_frame;
        object->path = answer.dlfo_link_map != NULL ? answer.dlfo_link_map->l_name : "";
    }
    return true;
}
#else
static bool
find_without_lock(uintptr_t address, struct hew_os_object *object, bool *found)
{
    return false;
}
#endif

/*
 * Before glibc 2.35 fork() does not hold the loader's lock.  If a thread held it, the child, which does not have that
 * thread, would wait forever.  So during a fork no hew thread holds that lock: a search that starts then finds nothing.
 * Both counters are atomic and sequentially consistent: either the searching thread sees the fork, or the fork sees the
 * search.
 *
 * The wait is bounded, because fork() may run in a callback of dl_iterate_phdr(), which holds the lock itself.
 */
#define ROUND_MS 1 /* a search takes a few microseconds of CPU time */
#define ROUNDS_MAX 1000
static _Atomic uint32_t searching, forking;

static bool
search_with_lock(int (*look)(struct dl_phdr_info *info, size_t size, void *context), void *context)
{
    atomic_fetch_add(&searching, 1);
    bool found = atomic_load(&forking) == 0 && dl_iterate_phdr(look, context) != 0;
    atomic_fetch_sub(&searching, 1);
    return found;
}

static bool
find_with_lock(uintptr_t address, struct hew_os_object *object)
{
    struct search search = {address, object};
    return search_with_lock(look_into, &search);
}

bool
hew_os_find_object(uintptr_t address, struct hew_os_object *object)
{
    bool found;
    if (HEW_LIKELY(find_without_lock(address, object, &found))) {
        return found;
    }
    return find_with_lock(address, object);
}

struct lowest {
    uintptr_t from;
    struct hew_os_code *code; /* the lowest so far; `begin` is UINTPTR_MAX if none */
};

static int
look_for_lowest(struct dl_phdr_info *info, size_t size, void *context)
{
    struct lowest *lowest = context;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = (info->dlpi_addr + header->p_vaddr) & ~((uintptr_t)HEW_PAGE - 1);
        if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0 || begin < lowest->from ||
            begin >= lowest->code->begin) {
            continue;
        }
        uintptr_t end = info->dlpi_addr + header->p_vaddr + header->p_memsz;
        const char *path = info->dlpi_name != NULL && info->dlpi_name[0] != '\0'
                               ? info->dlpi_name
                               : (const char *)hew_environment_auxiliary(AT_EXECFN);
        struct hew_text text;
        hew_text_begin(&text, lowest->code->path, lowest->code->path_bytes);
        hew_text_put(&text, path != NULL ? path : "");
        lowest->code->begin = begin;
        lowest->code->end = hew_bits_round_up(end, HEW_PAGE);
        lowest->code->offset = header->p_offset & ~((uint64_t)HEW_PAGE - 1);
    }
    return 0;
}

bool
hew_os_next_code(uintptr_t from, struct hew_os_code *code)
{
    struct lowest lowest = {from, code};
    code->begin = UINTPTR_MAX;
    search_with_lock(look_for_lowest, &lowest);
    return code->begin != UINTPTR_MAX;
}

void
hew_os_object_before_fork(void)
{
    atomic_fetch_add(&forking, 1);
    for (unsigned rounds = 0; rounds < ROUNDS_MAX; rounds++) {
        uint32_t now = atomic_load(&searching);
        if (now == 0) {
            return;
        }
        hew_futex_wait(&searching, now, ROUND_MS);
    }
}

void
hew_os_object_after_fork(bool child)
{
    if (child) {
        atomic_store(&searching, 0);
        atomic_store(&forking, 0);
    } else {
        atomic_fetch_sub(&forking, 1);
    }
}

/* The kernel reads the new signal mask first and then rejects the invalid operation. */
bool
hew_os_is_readable(uintptr_t address)
{
    return hew_syscall4(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) != -EFAULT;
}

/* Used where process_vm_readv() is not available: container filters, qemu.  Another thread may unmap the memory after
 * the test. */
static bool
copy_readable(uintptr_t address, void *bytes, size_t size)
{
    for (uintptr_t at = address & ~(uintptr_t)7; at < address + size; at += sizeof(uint64_t)) {
        if (!hew_os_is_readable(at)) {
            return false;
        }
    }
    memcpy(bytes, (const void *)address, size);
    return true;
}

bool
hew_os_peek(uintptr_t address, void *bytes, size_t size)
{
    struct iovec here = {bytes, size}, there = {(void *)address, size};
    long own = hew_syscall1(SYS_getpid, 0);
    long copied = hew_syscall6(SYS_process_vm_readv, own, (long)&here, 1, (long)&there, 1, 0);
    return copied == -ENOSYS || copied == -EPERM ? copy_readable(address, bytes, size) : copied == (long)size;
}
