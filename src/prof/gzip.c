/* SPDX-License-Identifier: MIT */
#include "prof/gzip.h"

#include <string.h>

/* CRC-32 by half-bytes: the table has 64 bytes. */
static uint32_t
crc_of(uint32_t crc, const uint8_t *bytes, size_t count)
{
    static const uint32_t halves[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    crc = ~crc;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ halves[crc & 15];
        crc = crc >> 4 ^ halves[crc & 15];
    }
    return ~crc;
}

/* Little-endian, as both formats require. */
static void
put_number(struct hew_sink *sink, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)(value >> (8 * i));
        hew_sink_put(sink, &byte, 1);
    }
}

void
hew_gzip_begin(struct hew_gzip *gzip, struct hew_sink *sink)
{
    static const uint8_t head[10] = {0x1f, 0x8b, 8 /* deflate */, 0, 0, 0, 0, 0, 0, 255 /* system unknown */};
    gzip->sink = sink;
    gzip->crc = gzip->length = 0;
    gzip->held = 0;
    hew_sink_put(sink, head, sizeof head);
}

static void
flush(struct hew_gzip *gzip, bool last)
{
    put_number(gzip->sink, last, 1);
    put_number(gzip->sink, gzip->held, 2);
    put_number(gzip->sink, ~gzip->held, 2);
    hew_sink_put(gzip->sink, gzip->block, gzip->held);
    gzip->crc = crc_of(gzip->crc, gzip->block, gzip->held);
    gzip->length += (uint32_t)gzip->held;
    gzip->held = 0;
}

void
hew_gzip_put(struct hew_gzip *gzip, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    while (count > 0) {
        if (gzip->held == sizeof gzip->block) {
            flush(gzip, false);
        }
        size_t room = sizeof gzip->block - gzip->held, some = count < room ? count : room;
        memcpy(gzip->block + gzip->held, from, some);
        gzip->held += some;
        from += some;
        count -= some;
    }
}

void
hew_gzip_end(struct hew_gzip *gzip)
{
    flush(gzip, true);
    put_number(gzip->sink, gzip->crc, 4);
    put_number(gzip->sink, gzip->length, 4);
}
