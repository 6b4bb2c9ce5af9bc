/* SPDX-License-Identifier: MIT */
#include "os/object.h"

#include "os/syscall.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>

struct search {
    uintptr_t address;
    struct hew_os_object *found;
};

static int
look_into(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    struct hew_os_object object = {UINTPTR_MAX, 0, NULL};
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
/* The loader allocates while it sets up what _dl_find_object() reads: nobody may ask before constructors run. */
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

bool
hew_os_find_object(uintptr_t address, struct hew_os_object *object)
{
    bool found;
    if (HEW_LIKELY(find_without_lock(address, object, &found))) {
        return found;
    }
    struct search search = {address, object};
    return dl_iterate_phdr(look_into, &search) != 0;
}

bool
hew_os_peek(uintptr_t address, void *bytes, size_t size)
{
    struct iovec here = {bytes, size}, there = {(void *)address, size};
    long own = hew_syscall1(SYS_getpid, 0);
    return hew_syscall6(SYS_process_vm_readv, own, (long)&here, 1, (long)&there, 1, 0) == (long)size;
}
