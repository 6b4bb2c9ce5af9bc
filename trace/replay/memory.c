/* SPDX-License-Identifier: MIT */
/* memory: see memory.h. */
#include "replay/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE 4096

/* resident minus shared, from the line "size resident shared ..." in pages */
static uint64_t
anonymous(const struct hew_memory *memory)
{
    char line[128], *at = line;
    ssize_t got = pread(memory->statm, line, sizeof(line) - 1, 0);
    uint64_t resident, shared;

    if (got <= 0) {
        return 0;
    }
    line[got] = '\0';
    (void)strtoull(at, &at, 10);
    resident = strtoull(at, &at, 10);
    shared = strtoull(at, &at, 10);
    return (resident - shared) * PAGE;
}

void
hew_memory_begin(struct hew_memory *memory, int samples)
{
    *memory = (struct hew_memory){.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC), .samples = samples};
    memory->floor = anonymous(memory);
}

void
hew_memory_look(struct hew_memory *memory, uint64_t time)
{
    uint64_t now = anonymous(memory);
    char line[64];
    int length;

    now = now > memory->floor ? now - memory->floor : 0;
    time = time > memory->last_time ? time : memory->last_time;
    memory->byte_microseconds += (double)(time - memory->last_time) * (double)(memory->last + now) / 2;
    memory->peak = now > memory->peak ? now : memory->peak;
    memory->last = now;
    memory->last_time = time;
    if (memory->samples >= 0) {
        length = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 "\n", time, now);
        if (write(memory->samples, line, (size_t)length) != length) {
            memory->samples = -1;
        }
    }
}
