/* SPDX-License-Identifier: MIT */
/* crc: see crc.h.  The tables are computed at the first call; two threads that compute them at once write the same
 * values. */
#include "format/crc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static uint32_t tables[4][256];
static atomic_bool made;

static void
make_tables(void)
{
    for (unsigned i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1) ^ (UINT32_C(0xEDB88320) & (0 - (value & 1)));
        }
        tables[0][i] = value;
    }
    for (unsigned i = 0; i < 256; i++) {
        for (int table = 1; table < 4; table++) {
            uint32_t before = tables[table - 1][i];
            tables[table][i] = (before >> 8) ^ tables[0][before & 255];
        }
    }
    atomic_store_explicit(&made, true, memory_order_release);
}

uint32_t
hew_trace_crc(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t crc = UINT32_MAX;

    if (!atomic_load_explicit(&made, memory_order_acquire)) {
        make_tables();
    }
    for (; size >= 4; size -= 4, at += 4) {
        uint32_t word;
        memcpy(&word, at, 4);
        crc ^= word;
        crc = tables[3][crc & 255] ^ tables[2][(crc >> 8) & 255] ^ tables[1][(crc >> 16) & 255] ^ tables[0][crc >> 24];
    }
    for (; size > 0; size--, at++) {
        crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 255];
    }
    return ~crc;
}
