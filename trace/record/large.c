/* SPDX-License-Identifier: MIT */
/* large: see large.h. */
#include "record/large.h"

#include "os/syscall.h"
#include "record/wiped.h"

#include <fcntl.h>
#include <sys/mman.h>

#define ENTRIES ((size_t)4096)
#define TRIES 16
#define BUSY ((uintptr_t)1)
#define PRESENT (UINT64_C(3) << 62) /* in memory, or in swap */
#define PAGES_AT_ONCE 512

struct entry {
    uintptr_t object; /* 0: free; BUSY: being filled.  Released by the thread that fills it, acquired by the scan */
    size_t size;
    uint64_t id;
};

static struct entry *entries; /* set once, before the first object */

bool
hew_large_begin(void)
{
    if (entries == NULL) { /* a forked child's read as zeros */
        entries = hew_trace_map_wiped(ENTRIES * sizeof(*entries));
    }
    return entries != NULL;
}

void
hew_large_forget(void)
{
    for (size_t i = 0; entries != NULL && i < ENTRIES; i++) {
        __atomic_store_n(&entries[i].object, 0, __ATOMIC_RELAXED);
    }
}

static struct entry *
entry_at(const void *object, unsigned try)
{
    uint64_t mixed = ((uintptr_t)object >> 12) * UINT64_C(0x9e3779b97f4a7c15);

    return &entries[((mixed >> 40) + try) % ENTRIES];
}

bool
hew_large_add(const void *object, size_t size, uint64_t id)
{
    for (unsigned try = 0; entries != NULL && try < TRIES; try++) {
        struct entry *entry = entry_at(object, try);
        uintptr_t none = 0;
        if (__atomic_compare_exchange_n(&entry->object, &none, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            entry->size = size;
            entry->id = id;
            __atomic_store_n(&entry->object, (uintptr_t)object, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

size_t
hew_large_take(const void *object)
{
    for (unsigned try = 0; entries != NULL && try < TRIES; try++) {
        struct entry *entry = entry_at(object, try);
        if (__atomic_load_n(&entry->object, __ATOMIC_ACQUIRE) == (uintptr_t)object) {
            size_t size = entry->size;
            __atomic_store_n(&entry->object, 0, __ATOMIC_RELEASE);
            return size;
        }
    }
    return 0;
}

bool
hew_large_next(size_t *at, const void **object, size_t *size, uint64_t *id)
{
    for (; entries != NULL && *at < ENTRIES; (*at)++) {
        struct entry entry = {.object = __atomic_load_n(&entries[*at].object, __ATOMIC_ACQUIRE)};
        if (entry.object > BUSY) {
            *object = (const void *)entry.object;
            *size = entries[*at].size;
            *id = entries[*at].id;
            (*at)++;
            return true;
        }
    }
    return false;
}

uint64_t
hew_large_touched(const void *object, size_t size)
{
    uint64_t words[PAGES_AT_ONCE], found = 0;
    uint64_t page = (uintptr_t)object / 4096, end = ((uintptr_t)object + size + 4095) / 4096;
    long file = hew_syscall4(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);

    if (file < 0) {
        return UINT64_MAX;
    }
    while (page < end) {
        size_t count = end - page < PAGES_AT_ONCE ? end - page : PAGES_AT_ONCE;
        long got = hew_syscall4(SYS_pread64, file, words, count * sizeof(words[0]), page * sizeof(words[0]));
        if (got <= 0) {
            found = UINT64_MAX;
            break;
        }
        for (size_t i = 0; i < (size_t)got / sizeof(words[0]); i++) {
            found += (words[i] & PRESENT) != 0;
        }
        page += (size_t)got / sizeof(words[0]);
    }
    hew_syscall1(SYS_close, file);
    return found;
}
