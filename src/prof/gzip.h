/* SPDX-License-Identifier: MIT */
/*
 * gzip: wraps bytes as an uncompressed gzip file.
 *
 * Why       readers of pprof's format expect gzip; the space that compression saves is not worth a compressor here.
 * Owned by the writer.
 */
#ifndef HEW_PROF_GZIP_H
#define HEW_PROF_GZIP_H

#include "prof/sink.h"

#define HEW_GZIP_BLOCK 32768 /* a stored block has at most 65535 bytes */

struct hew_gzip {
    struct hew_sink *sink;
    uint32_t crc;
    uint32_t length; /* modulo 2^32 */
    size_t held;
    uint8_t block[HEW_GZIP_BLOCK];
};

void hew_gzip_begin(struct hew_gzip *gzip, struct hew_sink *sink);
void hew_gzip_put(struct hew_gzip *gzip, const void *bytes, size_t count);
void hew_gzip_end(struct hew_gzip *gzip);

#endif
