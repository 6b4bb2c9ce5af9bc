/* SPDX-License-Identifier: MIT */
#include "os/file.h"

#include "base/text.h"
#include "os/syscall.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static long
open_to_read(const char *path)
{
    return hew_syscall4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
}

bool
hew_file_read(const char *path, char *buffer, size_t capacity)
{
    long file = open_to_read(path);
    if (file < 0) {
        return false;
    }
    long got = hew_syscall3(SYS_read, file, buffer, capacity - 1);
    hew_syscall1(SYS_close, file);
    buffer[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* A file without a size is a pipe or a device.  Its data arrives in pieces, and reading them would take them from the
 * program. */
size_t
hew_file_read_whole(const char *path, char *buffer, size_t capacity)
{
    long file = open_to_read(path);
    if (file < 0) {
        return 0;
    }
    long got = hew_syscall4(SYS_pread64, file, buffer, capacity - 1, 0);
    long size = hew_syscall3(SYS_lseek, file, 0, SEEK_END);
    hew_syscall1(SYS_close, file);
    buffer[got > 0 ? got : 0] = '\0';
    bool is_large = got > 0 && size > 0 && (size_t)size >= capacity;
    return is_large ? capacity : got > 0 && got == size ? (size_t)got : 0;
}

const char *
hew_file_huge_pages(void)
{
    static const struct {
        const char *chosen, *mode;
    } modes[] = {{"[always]", "always"}, {"[madvise]", "madvise"}, {"[never]", "never"}};
    char text[64];
    if (hew_file_read("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text)) {
        for (unsigned mode = 0; mode < sizeof modes / sizeof modes[0]; mode++) {
            if (strstr(text, modes[mode].chosen) != NULL) {
                return modes[mode].mode;
            }
        }
    }
    return "not supported";
}

int
hew_file_in_memory(char *path)
{
    struct hew_text text;
    long file = hew_syscall2(SYS_memfd_create, "hew", MFD_CLOEXEC);
    hew_text_begin(&text, path, HEW_FILE_OWN_PATH);
    hew_text_put(&text, "/proc/thread-self/fd/");
    hew_text_put_unsigned(&text, file < 0 ? 0 : (uint64_t)file);
    return (int)file;
}

long
hew_file_read_piece(int file, uint64_t offset, void *bytes, size_t most)
{
    return hew_syscall4(SYS_pread64, file, bytes, most, offset);
}

long
hew_file_write(int file, const void *bytes, size_t count)
{
    const uint64_t deadly = UINT64_C(1) << (SIGXFSZ - 1) | UINT64_C(1) << (SIGPIPE - 1);
    const int64_t at_once[2] = {0, 0}; /* laid out as struct timespec */
    uint64_t before = 0;
    hew_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &deadly, &before, sizeof before);
    long written = hew_syscall3(SYS_write, file, bytes, count);
    if (written == -EFBIG || written == -EPIPE) {
        hew_syscall4(SYS_rt_sigtimedwait, &deadly, NULL, at_once, sizeof deadly);
    }
    hew_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    return written;
}

void
hew_file_close(int file)
{
    hew_syscall1(SYS_close, file);
}
