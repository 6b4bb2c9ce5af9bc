/* SPDX-License-Identifier: MIT */
#include "prof/mappings.h"

#include "os/object.h"
#include "os/syscall.h"
#include "prof/image.h"
#include "prof/modules.h"

#include <fcntl.h>
#include <string.h>

#define LINE_MOST (HEW_MAPPING_PATH + 128)

/* Parses a hexadecimal number and the character after it; false when that is not `after`. */
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

/* An iteration over mappings in address order. */
struct walk {
    void (*visit)(const struct hew_mapping *mapping, void *context);
    void *context;
    uintptr_t end; /* end of the mapping visited last */
};

/* Visits the closed libraries between the mapping visited last and `limit`. */
static void
visit_closed(struct walk *walk, uintptr_t limit)
{
    struct hew_mapping closed;
    while (hew_modules_next(walk->end, limit, &closed)) {
        walk->visit(&closed, walk->context);
        walk->end = closed.end;
    }
}

static void
visit_mapping(struct walk *walk, struct hew_mapping *mapping)
{
    struct hew_os_object object;
    mapping->closed = false;
    mapping->build_id_bytes = 0;
    if (hew_os_find_object(mapping->begin, &object)) {
        mapping->build_id_bytes = hew_image_build_id(object.begin, mapping->build_id, HEW_BUILD_ID);
    }
    visit_closed(walk, mapping->begin);
    walk->visit(mapping, walk->context);
    walk->end = mapping->end;
}

/* Reads /proc/self/maps.  False: it does not exist. */
static bool
visit_lines(struct walk *walk)
{
    char text[LINE_MOST];
    size_t held = 0;
    struct hew_mapping mapping;
    int file = (int)hew_syscall3(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    for (;;) {
        long got = hew_syscall3(SYS_read, file, text + held, sizeof text - held);
        if (got <= 0 && got != -EINTR) {
            break;
        }
        held += got > 0 ? (size_t)got : 0;
        char *line = text, *end;
        while ((end = memchr(line, '\n', (size_t)(text + held - line))) != NULL) {
            if (hew_mappings_parse(line, (size_t)(end - line), &mapping)) {
                visit_mapping(walk, &mapping);
            }
            line = end + 1;
        }
        if (line == text && held == sizeof text) {
            line = text + held; /* the path is too long: drop its beginning; the remainder will not parse */
        }
        held = (size_t)(text + held - line);
        memmove(text, line, held);
    }
    hew_syscall1(SYS_close, file);
    return true;
}

void
hew_mappings_each(void (*visit)(const struct hew_mapping *mapping, void *context), void *context)
{
    struct walk walk = {visit, context, 0};
    if (!visit_lines(&walk)) {
        hew_mappings_of_loader(visit, context);
        return;
    }
    visit_closed(&walk, UINTPTR_MAX);
}

void
hew_mappings_of_loader(void (*visit)(const struct hew_mapping *mapping, void *context), void *context)
{
    struct walk walk = {visit, context, 0};
    struct hew_mapping mapping;
    struct hew_os_code code = {.path = mapping.path, .path_bytes = sizeof mapping.path};
    while (hew_os_next_code(walk.end, &code)) {
        mapping.begin = code.begin;
        mapping.end = code.end;
        mapping.offset = code.offset;
        visit_mapping(&walk, &mapping);
    }
    visit_closed(&walk, UINTPTR_MAX);
}
