/* SPDX-License-Identifier: MIT */
/* about: see about.h. */
#include "record/about.h"

#include "base/text.h"
#include "format/crc.h"
#include "format/format.h"
#include "os/syscall.h"
#include "record/file.h"
#include "record/next.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM ((size_t)8192)
#define MODULES_ROOM ((size_t)256 << 10)
#define THREADS_ROOM ((size_t)64 << 10)
#define COMM_BYTES 64 /* of a line with a thread's name, and more */

size_t
hew_trace_read_file(const char *path, char *to, size_t most)
{
    long file = hew_syscall4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), got;
    size_t size = 0;

    if (file < 0) {
        return 0;
    }
    while (size < most && (got = hew_syscall3(SYS_read, file, to + size, most - size)) > 0) {
        size += (size_t)got;
    }
    hew_syscall1(SYS_close, file);
    return size;
}

void
hew_trace_close_room(struct hew_trace_block *block, uint8_t kind, size_t room, size_t length)
{
    *block = (struct hew_trace_block){
        .magic = HEW_TRACE_BLOCK_MAGIC,
        .kind = kind,
        .state = HEW_TRACE_CLOSED,
        .room = (uint32_t)room,
        .length = (uint32_t)length,
        .stored = (uint32_t)length,
        .checksum = hew_trace_crc(block + 1, length),
    };
    block->header_checksum = hew_trace_crc(block, sizeof(*block) - sizeof(block->header_checksum));
    hew_trace_leave_room(block, room);
}

bool
hew_trace_write_about(void)
{
    struct hew_trace_block *block = hew_trace_take_room(ROOM, 0);
    char words[2048], program[1024];
    struct hew_text text;
    size_t size;
    long length;

    if (block == NULL) {
        return false;
    }
    hew_text_begin(&text, (char *)(block + 1), ROOM - sizeof(*block));
    size = hew_trace_read_file("/proc/self/cmdline", words, sizeof(words));
    for (size_t i = 0; i < size; i++) {
        words[i] = words[i] == '\0' ? ' ' : words[i];
    }
    hew_text_put(&text, "command=");
    hew_text_put_printable(&text, words, size > 0 && words[size - 1] == ' ' ? size - 1 : size);
    length = hew_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof(program));
    hew_text_put(&text, "\nprogram=");
    hew_text_put_printable(&text, program, length > 0 ? (size_t)length : 0);
    hew_text_put(&text, "\nallocator=");
    hew_text_put(&text, hew_next_library());
    hew_text_put(&text, "\nparent=");
    hew_text_put_unsigned(&text, (uint64_t)hew_syscall1(SYS_getppid, 0));
    hew_text_put(&text, "\n");
    hew_trace_close_room(block, HEW_TRACE_INFO, ROOM, text.length);
    return true;
}

uintptr_t
hew_trace_maps_address(const char *line, const char *stop, bool end)
{
    uintptr_t value = 0;

    for (; line < stop && *line != ' '; line++) {
        if (*line == '-') {
            if (!end) {
                break;
            }
            value = 0;
        } else {
            value = value << 4 | (uintptr_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
        }
    }
    return value;
}

/* Keeps only the lines of mappings within [begin, end); returns the remaining length. */
static size_t
only_within(char *text, size_t length, uintptr_t begin, uintptr_t end)
{
    size_t kept = 0;

    for (char *line = text, *stop = text + length, *next; line < stop; line = next) {
        next = memchr(line, '\n', (size_t)(stop - line));
        next = next == NULL ? stop : next + 1;
        if (hew_trace_maps_address(line, next, false) < end && hew_trace_maps_address(line, next, true) > begin) {
            memmove(text + kept, line, (size_t)(next - line));
            kept += (size_t)(next - line);
        }
    }
    return kept;
}

void
hew_trace_write_modules(uintptr_t begin, uintptr_t end, uint64_t generation)
{
    long mapped =
        hew_syscall6(SYS_mmap, 0, (long)MODULES_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *text = (char *)mapped;
    struct hew_trace_block *block;
    size_t length, room;

    if (mapped < 0) {
        return;
    }
    length = only_within(text, hew_trace_read_file("/proc/self/maps", text, MODULES_ROOM - sizeof(*block)), begin, end);
    room = (length + sizeof(*block) + 4095) & ~(size_t)4095;
    block = length == 0 ? NULL : hew_trace_take_room(room, generation);
    if (block != NULL) {
        memcpy(block + 1, text, length);
        hew_trace_close_room(block, HEW_TRACE_MODULES, room, length);
    }
    hew_syscall2(SYS_munmap, text, MODULES_ROOM);
}

/* A line for each thread in a list of directory entries. */
static void
put_threads(struct hew_text *text, const char *entries, size_t length)
{
    for (size_t at = 0; at < length;) {
        const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
        char path[sizeof("/proc/self/task//comm") + 24], name[COMM_BYTES];
        struct hew_text place;
        size_t size;
        at += entry->d_reclen;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') {
            continue;
        }
        hew_text_begin(&place, path, sizeof(path));
        hew_text_put(&place, "/proc/self/task/");
        hew_text_put(&place, entry->d_name);
        hew_text_put(&place, "/comm");
        size = hew_trace_read_file(path, name, sizeof(name));
        if (size > 1 && text->length + 2 * COMM_BYTES < THREADS_ROOM - sizeof(struct hew_trace_block)) {
            hew_text_put(text, entry->d_name);
            hew_text_put(text, "\t");
            hew_text_put_printable(text, name, size - 1); /* without the line's end */
            hew_text_put(text, "\n");
        }
    }
}

void
hew_trace_write_threads(uint64_t generation)
{
    long folder = hew_syscall4(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), got;
    struct hew_trace_block *block = folder < 0 ? NULL : hew_trace_take_room(THREADS_ROOM, generation);
    _Alignas(struct dirent64) char entries[2048];
    struct hew_text text;

    if (block != NULL) {
        hew_text_begin(&text, (char *)(block + 1), THREADS_ROOM - sizeof(*block));
        while ((got = hew_syscall3(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
            put_threads(&text, entries, (size_t)got);
        }
        hew_trace_close_room(block, HEW_TRACE_THREADS, THREADS_ROOM, text.length);
    }
    if (folder >= 0) {
        hew_syscall1(SYS_close, folder);
    }
}
