/* SPDX-License-Identifier: MIT */
/* crc: CRC-32 as in zlib and gzip (polynomial 0xEDB88320), four bytes at a time. */
#ifndef HEW_TRACE_FORMAT_CRC_H
#define HEW_TRACE_FORMAT_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Thread-safe; allocates nothing. */
uint32_t hew_trace_crc(const void *bytes, size_t size);

#endif
