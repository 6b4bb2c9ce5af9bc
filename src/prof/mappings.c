/* SPDX-License-Identifier: MIT */
#include "prof/mappings.h"

#include "base/bits.h"
#include "os/object.h"
#include "os/syscall.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

#define HEADERS_MOST 64
#define NOTES_MOST 2048
#define LINE_MOST (HEW_MAPPING_PATH + 128)

/* A number in hexadecimal and the character behind it; false when that is not `after`. */
static bool
take_hex(const char **at, const char *end, uint64_t *value, char after)
{
    *value = 0;
    for (; *at < end && **at != after; ++*at) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16) {
            return false;
        }
        *value = *value << 4 | digit;
    }
    if (*at == end) {
        return false;
    }
    ++*at;
    return true;
}

static void
skip_field(const char **at, const char *end)
{
    while (*at < end && **at != ' ') {
        ++*at;
    }
    while (*at < end && **at == ' ') {
        ++*at;
    }
}

/* 55d0c0a00000-55d0c0a01000 r-xp 00001000 fe:00 1234     /usr/bin/true */
bool
hew_mappings_parse(const char *line, size_t length, struct hew_mapping *mapping)
{
    const char *at = line, *end = line + length;
    uint64_t begin, limit;
    if (!take_hex(&at, end, &begin, '-') || !take_hex(&at, end, &limit, ' ') || end - at < 5 || at[2] != 'x') {
        return false;
    }
    skip_field(&at, end);
    if (!take_hex(&at, end, &mapping->offset, ' ')) {
        return false;
    }
    skip_field(&at, end); /* device */
    skip_field(&at, end); /* inode */
    mapping->begin = begin;
    mapping->end = limit;
    size_t bytes = (size_t)(end - at);
    bytes = bytes < HEW_MAPPING_PATH ? bytes : HEW_MAPPING_PATH - 1;
    memcpy(mapping->path, at, bytes);
    mapping->path[bytes] = '\0';
    return true;
}

/* Among notes, a build id; its length, 0: none. */
static unsigned
find_build_id(const uint8_t *notes, size_t size, uint8_t *id, unsigned most)
{
    ElfW(Nhdr) note;
    for (size_t at = 0; at + sizeof note <= size;) {
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, content = name + hew_bits_round_up(note.n_namesz, 4);
        if (content > size || note.n_descsz > size - content) {
            return 0;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            unsigned bytes = note.n_descsz < most ? note.n_descsz : most;
            memcpy(id, notes + content, bytes);
            return bytes;
        }
        at = content + hew_bits_round_up(note.n_descsz, 4);
    }
    return 0;
}

unsigned
hew_mappings_build_id(uintptr_t begin, uint8_t *id, unsigned most)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) parts[HEADERS_MOST];
    uint8_t notes[NOTES_MOST];
    if (!hew_os_peek(begin, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phnum > HEADERS_MOST || !hew_os_peek(begin + head.e_phoff, parts, head.e_phnum * sizeof parts[0])) {
        return 0;
    }
    uintptr_t first = UINTPTR_MAX;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        first = parts[i].p_type == PT_LOAD && parts[i].p_vaddr < first ? parts[i].p_vaddr : first;
    }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        size_t size = parts[i].p_memsz < NOTES_MOST ? parts[i].p_memsz : NOTES_MOST;
        if (parts[i].p_type != PT_NOTE || !hew_os_peek(begin + parts[i].p_vaddr - first, notes, size)) {
            continue;
        }
        unsigned bytes = find_build_id(notes, size, id, most);
        if (bytes != 0) {
            return bytes;
        }
    }
    return 0;
}

static void
visit_line(const char *line, size_t length, void (*visit)(const struct hew_mapping *mapping, void *context),
           void *context)
{
    struct hew_mapping mapping;
    struct hew_os_object object;
    if (!hew_mappings_parse(line, length, &mapping)) {
        return;
    }
    mapping.build_id_bytes = 0;
    if (hew_os_find_object(mapping.begin, &object)) {
        mapping.build_id_bytes = hew_mappings_build_id(object.begin, mapping.build_id, HEW_BUILD_ID);
    }
    visit(&mapping, context);
}

void
hew_mappings_each(void (*visit)(const struct hew_mapping *mapping, void *context), void *context)
{
    char text[LINE_MOST];
    size_t held = 0;
    int file = (int)hew_syscall3(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (file >= 0) {
        long got = hew_syscall3(SYS_read, file, text + held, sizeof text - held);
        if (got <= 0 && got != -EINTR) {
            break;
        }
        held += got > 0 ? (size_t)got : 0;
        char *line = text, *end;
        while ((end = memchr(line, '\n', (size_t)(text + held - line))) != NULL) {
            visit_line(line, (size_t)(end - line), visit, context);
            line = end + 1;
        }
        if (line == text && held == sizeof text) {
            line = text + held; /* a path that is too long for us: its beginning goes, its end will not parse */
        }
        held = (size_t)(text + held - line);
        memmove(text, line, held);
    }
    if (file >= 0) {
        hew_syscall1(SYS_close, file);
    }
}
