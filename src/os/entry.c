/* SPDX-License-Identifier: MIT */
#include "os/entry.h"

#include "os/syscall.h"

#include <fcntl.h>
#include <sys/stat.h>

static bool
look(const char *path, struct stat *status)
{
    return hew_syscall4(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool
hew_entry_look(const char *path, struct hew_entry *entry)
{
    struct stat status;
    if (!look(path, &status)) {
        return false;
    }
    *entry = (struct hew_entry){status.st_dev, status.st_ino, status.st_uid, S_ISSOCK(status.st_mode)};
    return true;
}

bool
hew_entry_same(const struct hew_entry *one, const struct hew_entry *other)
{
    return one->device == other->device && one->number == other->number;
}

void
hew_entry_remove(const char *path)
{
    hew_syscall3(SYS_unlinkat, AT_FDCWD, path, 0);
}

bool
hew_entry_own_directory(const char *path)
{
    struct stat status;
    hew_syscall3(SYS_mkdirat, AT_FDCWD, path, S_IRWXU);
    return look(path, &status) && S_ISDIR(status.st_mode) && status.st_uid == hew_entry_user() &&
           (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

unsigned
hew_entry_user(void)
{
    return (unsigned)hew_syscall1(SYS_geteuid, 0);
}

uint64_t
hew_entry_process(void)
{
    return (uint64_t)hew_syscall1(SYS_getpid, 0);
}

unsigned
hew_entry_thread(void)
{
    return (unsigned)hew_syscall1(SYS_gettid, 0);
}
