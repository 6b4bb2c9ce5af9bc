/* SPDX-License-Identifier: MIT */
#include "prof/sink.h"

#include "base/text.h"
#include "os/file.h"
#include "os/syscall.h"

#include <fcntl.h>
#include <string.h>

#define MODE 0644 /* as jemalloc's: the reader may be another user */

static int
open_file(const char *path, int flags)
{
    return (int)hew_syscall4(SYS_openat, AT_FDCWD, path, flags | O_WRONLY | O_CLOEXEC, MODE);
}

bool
hew_sink_open(struct hew_sink *sink, const char *path)
{
    struct hew_text growing;
    hew_text_begin(&growing, sink->growing, sizeof sink->growing);
    sink->file = open_file(path, O_TRUNC);
    if (sink->file == -ENOENT) {
        hew_text_put(&growing, path);
        hew_text_put(&growing, ".part");
        sink->file = growing.truncated ? -ENAMETOOLONG : open_file(sink->growing, O_CREAT | O_TRUNC);
    }
    sink->path = path;
    sink->failed = sink->file < 0;
    sink->held = 0;
    return !sink->failed;
}

bool
hew_sink_begin(struct hew_sink *sink, int file)
{
    sink->file = (int)hew_syscall3(SYS_fcntl, file, F_DUPFD_CLOEXEC, 0);
    sink->path = sink->growing;
    sink->growing[0] = '\0';
    sink->failed = sink->file < 0;
    sink->held = 0;
    return !sink->failed;
}

static void
flush(struct hew_sink *sink)
{
    size_t done = 0;
    while (!sink->failed && done < sink->held) {
        long written = hew_file_write(sink->file, sink->buffer + done, sink->held - done);
        sink->failed = written <= 0 && written != -EINTR;
        done += written > 0 ? (size_t)written : 0;
    }
    sink->held = 0;
}

void
hew_sink_put(struct hew_sink *sink, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    while (count > 0) {
        size_t room = sizeof sink->buffer - sink->held, some = count < room ? count : room;
        memcpy(sink->buffer + sink->held, from, some);
        sink->held += some;
        from += some;
        count -= some;
        if (sink->held == sizeof sink->buffer) {
            flush(sink);
        }
    }
}

void
hew_sink_put_text(struct hew_sink *sink, const char *text)
{
    hew_sink_put(sink, text, strlen(text));
}

void
hew_sink_put_unsigned(struct hew_sink *sink, uint64_t value)
{
    char digits[24];
    struct hew_text text;
    hew_text_begin(&text, digits, sizeof digits);
    hew_text_put_unsigned(&text, value);
    hew_sink_put(sink, digits, text.length);
}

void
hew_sink_put_hex(struct hew_sink *sink, uint64_t value)
{
    char digits[24];
    struct hew_text text;
    hew_text_begin(&text, digits, sizeof digits);
    hew_text_put_hex(&text, value);
    hew_sink_put(sink, digits + 2, text.length - 2);
}

bool
hew_sink_put_file(struct hew_sink *sink, const char *path)
{
    int from = (int)hew_syscall3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return false;
    }
    long got;
    do {
        if (sink->held == sizeof sink->buffer) {
            flush(sink);
        }
        got = hew_syscall3(SYS_read, from, sink->buffer + sink->held, sizeof sink->buffer - sink->held);
        sink->held += got > 0 ? (size_t)got : 0;
    } while (got > 0 || got == -EINTR);
    hew_syscall1(SYS_close, from);
    return true;
}

bool
hew_sink_close(struct hew_sink *sink)
{
    flush(sink);
    sink->failed = hew_syscall1(SYS_close, sink->file) < 0 || sink->failed;
    if (sink->growing[0] != '\0') {
        if (!sink->failed) {
            sink->failed = hew_syscall4(SYS_renameat, AT_FDCWD, sink->growing, AT_FDCWD, sink->path) < 0;
        }
        if (sink->failed) {
            hew_syscall3(SYS_unlinkat, AT_FDCWD, sink->growing, 0);
        }
    }
    return !sink->failed;
}
