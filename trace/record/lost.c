/* SPDX-License-Identifier: MIT */
/* lost: see lost.h. */
#include "record/lost.h"

#include "os/object.h"
#include "os/syscall.h"
#include "prof/unwind.h"
#include "record/about.h"
#include "record/large.h"
#include "record/next.h"
#include "record/thread.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((uintptr_t)4096)
#define WORDS 512                   /* in a page; and entries of pagemap read at once */
#define PRESENT (UINT64_C(3) << 62) /* in memory, or in swap */
#define NUMBER_OF(id) ((id) & (HEW_TRACE_LARGE - 1))
#define HANDLES (PAGE / sizeof(uint32_t)) /* in a page of the shadow: for 16 KiB of addresses */
#define WINDOWS 4096                      /* 128 GiB of addresses with objects */
#define REGIONS 4096                      /* of writable data of loaded objects */
#define MAPS_BYTES ((size_t)1 << 20)
#define BLOCK_ROWS ((HEW_TRACE_LENGTH_MAX >> 4) - 8)
#define MAPPED_CHUNK 2u /* glibc's flag in the size of a chunk that has a mapping of its own */

struct object {
    uintptr_t begin, end;
};

struct region {
    uintptr_t begin, end;
    bool starts_only; /* of what lies there, only pointers to the start of an object count */
};

static struct scan {
    struct object *objects; /* live ones, by address */
    uintptr_t *pending;     /* reached, and not read yet */
    size_t count, room, pending_count;
    bool starts_only, failed;
} scan;

static uint32_t windows[WINDOWS]; /* of the shadow, by number */
static struct region regions[REGIONS];
static unsigned window_count, region_count;
static uint64_t entries[WORDS];
static uintptr_t words[16 * WORDS];

/* Calls `each` for each page of the range that has memory. */
static void
each_page(int pagemap, uintptr_t begin, size_t bytes, uintptr_t argument,
          void (*each)(uintptr_t page, uintptr_t argument))
{
    for (uintptr_t at = begin; at < begin + bytes && !scan.failed; at += WORDS * PAGE) {
        size_t left = (begin + bytes - at) / PAGE, most = left < WORDS ? left : WORDS;
        long got =
            hew_syscall4(SYS_pread64, pagemap, entries, most * sizeof(entries[0]), at / PAGE * sizeof(entries[0]));
        scan.failed = got != (long)(most * sizeof(entries[0]));
        for (size_t i = 0; i < most && !scan.failed; i++) {
            if ((entries[i] & PRESENT) != 0) {
                each(at + i * PAGE, argument);
            }
        }
    }
}

static void
note_windows(uintptr_t page, uintptr_t argument)
{
    (void)argument;
    for (uint32_t **at = (uint32_t **)page; at < (uint32_t **)page + WORDS; at++) {
        size_t number = (size_t)(at - hew_shadow_windows);
        if (number < sizeof(hew_shadow_windows) / sizeof(hew_shadow_windows[0]) && *at != NULL) {
            scan.failed = scan.failed || window_count == WINDOWS;
            windows[scan.failed ? 0 : window_count++] = (uint32_t)number;
        }
    }
}

static bool
is_recorded(uint32_t handle)
{
    return handle != 0 && hew_trace_ids_find(handle) >> HEW_TRACE_LG_NUMBER > hew_trace_shared.floor;
}

static void
each_object(uintptr_t page, uintptr_t window, void (*each)(uintptr_t object))
{
    uintptr_t first = (uintptr_t)hew_shadow_windows[window], tried = 0, word;
    bool there = false;

    for (unsigned i = 0; i < HANDLES; i++) {
        uint32_t handle = __atomic_load_n((uint32_t *)page + i, __ATOMIC_RELAXED);
        uintptr_t object = (window << HEW_SHADOW_LG_WINDOW) + (page - first) * 4 + i * (uintptr_t)16;
        if (!is_recorded(handle) || hew_next_is_early((const void *)object)) {
            continue;
        }
        /* The object may have been freed unseen, and its page unmapped. */
        if (tried != (object & ~(PAGE - 1))) {
            tried = object & ~(PAGE - 1);
            there = hew_os_peek(tried, &word, sizeof(word));
        }
        if (there) {
            each(object);
        }
    }
}

static void
count_object(uintptr_t object)
{
    (void)object;
    scan.room++;
}

static void
count_objects(uintptr_t page, uintptr_t window)
{
    each_object(page, window, count_object);
}

/* The word before a chunk has its size and flags. */
static size_t
size_word(uintptr_t object)
{
    size_t word = 0;

    /* Another thread may have unmapped it just now; or it is in the page before, which has not been tried. */
    if (hew_trace_shared.threads > 1 || object % PAGE < sizeof(word)) {
        hew_os_peek(object - sizeof(word), &word, sizeof(word));
        return word;
    }
    return ((const size_t *)object)[-1];
}

static void
add_object(uintptr_t object)
{
    size_t word = size_word(object), size = word & ~(size_t)7, head = (word & MAPPED_CHUNK) != 0 ? 16 : 8;

    if (scan.count < scan.room) {
        size = size > head ? size - head : sizeof(word);
        scan.objects[scan.count++] = (struct object){object, object + size};
    }
}

static void
add_objects(uintptr_t page, uintptr_t window)
{
    each_object(page, window, add_object);
}

static void
in_all_windows(int pagemap, void (*each)(uintptr_t page, uintptr_t window))
{
    for (unsigned i = 0; i < window_count; i++) {
        /* glibc's objects lie at multiples of 16: the window's first half has them in order. */
        each_page(pagemap, (uintptr_t)hew_shadow_windows[windows[i]], HEW_SHADOW_HALF * sizeof(uint32_t), windows[i],
                  each);
    }
}

/* Makes the table of live objects.  False: it cannot be had. */
static bool
find_objects(void)
{
    long pagemap = hew_syscall4(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0), mapped;
    uintptr_t table = (uintptr_t)hew_shadow_windows & ~(PAGE - 1);
    size_t bytes;

    if (pagemap < 0) {
        return false;
    }
    each_page((int)pagemap, table, sizeof(hew_shadow_windows) + PAGE, 0, note_windows);
    in_all_windows((int)pagemap, count_objects);
    bytes = (scan.room + 1) * (sizeof(struct object) + sizeof(uintptr_t));
    mapped = hew_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0);
    /* With another flag than the program's mappings it does not become one with them. */
    scan.failed = scan.failed || mapped < 0 || hew_syscall3(SYS_madvise, mapped, bytes, MADV_WIPEONFORK) != 0;
    if (!scan.failed) {
        scan.objects = (struct object *)mapped;
        scan.pending = (uintptr_t *)(scan.objects + scan.room + 1);
        in_all_windows((int)pagemap, add_objects);
    }
    hew_syscall1(SYS_close, pagemap);
    return !scan.failed;
}

/* The number of objects that begin at the address or below. */
static size_t
begun_at(uintptr_t address)
{
    size_t low = 0, high = scan.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scan.objects[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void
reach(uintptr_t begin)
{
    uint32_t *handle = hew_shadow_find(begin);

    if (handle != NULL && (*handle & HEW_TRACE_REACHED) == 0 && scan.pending_count < scan.room) {
        *handle |= HEW_TRACE_REACHED;
        scan.pending[scan.pending_count++] = begin;
    }
}

/* A word that may be a pointer.  The exact start of an object is the common case, and quick. */
static void
take_word(uintptr_t word)
{
    const uint32_t *handle;
    size_t number;

    if (word < scan.objects[0].begin || word >= scan.objects[scan.count - 1].end) {
        return;
    }
    handle = hew_shadow_find(word);
    if ((word & 15) == 0 && handle != NULL && is_recorded(*handle)) {
        reach(word);
    } else if (!scan.starts_only && (number = begun_at(word)) != 0 && word < scan.objects[number - 1].end) {
        reach(scan.objects[number - 1].begin);
    }
}

/* Reads a range; a part that cannot be read has no pointers. */
static void
read_range(uintptr_t begin, uintptr_t end)
{
    begin = (begin + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);
    while (begin < end && end - begin >= sizeof(uintptr_t)) {
        size_t bytes = end - begin < sizeof(words) ? (end - begin) & ~(sizeof(uintptr_t) - 1) : sizeof(words);
        if (hew_os_peek(begin, words, bytes)) {
            for (size_t i = 0; i < bytes / sizeof(words[0]); i++) {
                take_word(words[i]);
            }
        }
        begin += bytes;
    }
}

/* The words of a live object.  While there is one thread its page stays, which each_object() has tried; and a
 * call for each object would cost more than the rest of the scan. */
static void
read_object(const struct object *object)
{
    const uintptr_t *word = (const uintptr_t *)object->begin;

    if (hew_trace_shared.threads > 1 || object->begin / PAGE != (object->end - 1) / PAGE) {
        read_range(object->begin, object->end);
        return;
    }
    for (; word + 1 <= (const uintptr_t *)object->end; word++) {
        take_word(*word);
    }
}

static void
read_pending(void)
{
    scan.starts_only = false;
    while (scan.pending_count > 0) {
        uintptr_t begin = scan.pending[--scan.pending_count];
        size_t number = begun_at(begin);
        if (number != 0) {
            read_object(&scan.objects[number - 1]);
        }
    }
}

static bool
is_named(const char *path, const char *name)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');

    return slash != NULL && strncmp(slash + 1, name, strlen(name)) == 0;
}

/* Notes the writable data of a loaded object.  glibc's own has pointers to free chunks, which lie at the end of the
 * object before. */
static int
note_regions(struct dl_phdr_info *info, size_t size, void *argument)
{
    bool starts_only = is_named(info->dlpi_name, "libc.so");

    (void)argument;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) != 0 && region_count < REGIONS) {
            regions[region_count++] = (struct region){begin, begin + part->p_memsz, starts_only};
        }
    }
    return size == 0;
}

static bool
is_of_the_exit(uintptr_t pc)
{
    struct hew_os_object object, own;

    return hew_os_find_object(pc, &object) && hew_os_find_object((uintptr_t)&scan, &own) &&
           (object.begin == own.begin || is_named(object.path, "libc.so") || is_named(object.path, "ld-"));
}

/* Where this thread's frames begin that are the program's: below lie those of exit(), with what earlier calls left
 * behind.  Finds the frames' return addresses on the stack, one above the other. */
static uintptr_t
first_frame(uintptr_t from)
{
    static uintptr_t frames[256];
    unsigned count = hew_unwind(frames, 256, 0);

    for (unsigned i = 0; i < count && is_of_the_exit(frames[i] - 1); i++) {
        uintptr_t word = 0;
        for (uintptr_t at = from; hew_os_peek(at, &word, sizeof(word)); at += sizeof(word)) {
            if (word == frames[i]) {
                from = at + sizeof(word);
                break;
            }
        }
    }
    return from;
}

/* Reads a mapping, apart from what in it is an object with a mapping of its own.  With other objects it is heap, of which
 * free memory says nothing. */
static void
read_around_objects(uintptr_t begin, uintptr_t end)
{
    size_t first = begun_at(begin), after = begun_at(end - 1);

    for (size_t i = first; i < after; i++) {
        if ((size_word(scan.objects[i].begin) & MAPPED_CHUNK) == 0) {
            return;
        }
    }
    for (size_t i = first; i < after && begin < end; i++) {
        read_range(begin, scan.objects[i].begin & ~(PAGE - 1));
        begin = (scan.objects[i].end + PAGE - 1) & ~(PAGE - 1);
    }
    read_range(begin, end);
}

/* Whether the mapping is the recorder's. */
static bool
is_ours(uintptr_t begin, uintptr_t end)
{
    for (unsigned i = 0; i < window_count; i++) {
        if ((uintptr_t)hew_shadow_windows[windows[i]] - begin < end - begin) {
            return true;
        }
    }
    return (uintptr_t)scan.objects - begin < end - begin;
}

/* Reads a mapping, apart from data of loaded objects, which is read on its own: the mapping may begin with that. */
static void
read_between_regions(uintptr_t begin, uintptr_t end)
{
    while (begin < end) {
        struct region next = {end, end, false};
        for (unsigned i = 0; i < region_count; i++) {
            if (regions[i].end > begin && regions[i].begin < next.begin) {
                next = regions[i];
            }
        }
        if (next.begin > begin) {
            read_around_objects(begin, next.begin);
        }
        begin = next.end;
    }
}

/* One line of /proc/self/maps; `stack` is where the program's frames begin. */
static void
read_mapping(const char *line, const char *stop, uintptr_t stack)
{
    uintptr_t begin = hew_trace_maps_address(line, stop, false), end = hew_trace_maps_address(line, stop, true);
    const char *flags = memchr(line, ' ', (size_t)(stop - line)), *name = memchr(line, '[', (size_t)(stop - line));
    bool file = memchr(line, '/', (size_t)(stop - line)) != NULL;

    if (flags == NULL || stop - flags < 5 || memcmp(flags + 1, "rw", 2) != 0 || flags[4] != 'p' || file) {
        return;
    }
    if (stack - begin < end - begin) {
        read_range(stack, end);
    } else if ((name == NULL || memcmp(name, "[anon", 5) == 0 || memcmp(name, "[stac", 5) == 0) &&
               !is_ours(begin, end)) {
        read_between_regions(begin, end);
    }
}

static bool
read_roots(uintptr_t stack)
{
    long mapped =
        hew_syscall6(SYS_mmap, 0, (long)MAPS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *text = (char *)mapped, *end, *next;

    if (mapped < 0) {
        return false;
    }
    end = text + hew_trace_read_file("/proc/self/maps", text, MAPS_BYTES);
    for (char *line = text; line < end; line = next) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next == NULL ? end : next + 1;
        read_mapping(line, next, stack);
        read_pending();
    }
    for (unsigned i = 0; i < region_count; i++) {
        uintptr_t own = (uintptr_t)&scan;
        scan.starts_only = regions[i].starts_only;
        if (own - regions[i].begin >= regions[i].end - regions[i].begin) {
            read_range(regions[i].begin, regions[i].end);
        }
        read_pending();
    }
    hew_syscall2(SYS_munmap, text, MAPS_BYTES);
    return end < text + MAPS_BYTES;
}

static struct hew_trace_lost
row_of(uint64_t id)
{
    return (struct hew_trace_lost){(uint32_t)((id >> HEW_TRACE_LG_NUMBER) - 1 - hew_trace_shared.floor), 0,
                                   NUMBER_OF(id)};
}

/* Blocks of lost objects; at least one, which says that the end was scanned. */
static void
write_rows(void)
{
    size_t next = 0;

    do {
        size_t first = next, rows = 0, room;
        for (; next < scan.count && rows < BLOCK_ROWS; next++) {
            rows += (*hew_shadow_find(scan.objects[next].begin) & HEW_TRACE_REACHED) == 0;
        }
        room = (rows * sizeof(struct hew_trace_lost) + sizeof(struct hew_trace_block) + PAGE - 1) & ~(PAGE - 1);
        struct hew_trace_block *block = hew_trace_take_room(room, hew_trace_shared.generation);
        if (block == NULL) {
            return;
        }
        struct hew_trace_lost *row = (struct hew_trace_lost *)(block + 1), *end = row + rows;
        for (size_t i = first; i < next && row < end; i++) {
            uint32_t handle = *hew_shadow_find(scan.objects[i].begin);
            if ((handle & HEW_TRACE_REACHED) == 0 && is_recorded(handle)) {
                *row++ = row_of(hew_trace_ids_find(handle));
            }
        }
        hew_trace_close_room(block, HEW_TRACE_LOST, room, rows * sizeof(*row));
    } while (next < scan.count);
}

void
hew_trace_write_lost(void)
{
    uintptr_t stack;

    if (!hew_trace_shared.whole || !is_named(hew_next_library(), "libc.so") ||
        (hew_trace_shared.header->flags & HEW_TRACE_OBJECTS) != 0 || hew_trace_settings.thread_sampling != 1 ||
        hew_trace_settings.sample_bytes != 0 || !find_objects()) {
        return;
    }
    hew_large_forget(); /* the recorder's own pointers to objects */
    stack = first_frame((uintptr_t)__builtin_frame_address(0));
    dl_iterate_phdr(note_regions, NULL);
    if (scan.count == 0 || read_roots(stack)) {
        write_rows();
    }
}
