/* SPDX-License-Identifier: MIT */
/* about: see about.h. */
#include "record/about.h"

#include "base/text.h"
#include "format/crc.h"
#include "format/format.h"
#include "os/syscall.h"
#include "record/file.h"
#include "record/next.h"

#include <fcntl.h>

#define ROOM ((size_t)8192)
#define MODULES_ROOM ((size_t)256 << 10)

static size_t
read_file(const char *path, char *to, size_t most)
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

static void
close_text(struct hew_trace_block *block, uint8_t kind, size_t room, size_t length)
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
    size = read_file("/proc/self/cmdline", words, sizeof(words));
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
    close_text(block, HEW_TRACE_INFO, ROOM, text.length);
    return true;
}

void
hew_trace_write_modules(void)
{
    struct hew_trace_block *block = hew_trace_take_room(MODULES_ROOM, hew_trace_shared.generation);

    if (block != NULL) {
        close_text(block, HEW_TRACE_MODULES, MODULES_ROOM,
                   read_file("/proc/self/maps", (char *)(block + 1), MODULES_ROOM - sizeof(*block)));
    }
}
