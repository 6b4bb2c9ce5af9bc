/* SPDX-License-Identifier: MIT */
/* smaps: what the kernel tells of this process's mappings, read without malloc. */
#ifndef HEW_PRELOAD_SMAPS_H
#define HEW_PRELOAD_SMAPS_H

#include <fcntl.h>
#include <unistd.h>

static char smaps[1 << 18];

/* The text as of now; empty when it cannot be read. */
static char *
smaps_read(void)
{
    size_t length = 0;
    ssize_t got;
    int file = open("/proc/self/smaps", O_RDONLY);
    while (file >= 0 && (got = read(file, smaps + length, sizeof smaps - 1 - length)) > 0) {
        length += (size_t)got;
    }
    if (file >= 0) {
        close(file);
    }
    smaps[length] = '\0';
    return smaps;
}

#endif
