/* SPDX-License-Identifier: MIT */
/* wiped: tables of the recorder, which a forked child sees as zeros (MADV_WIPEONFORK): it knows none of its parent's objects. */
#ifndef HEW_TRACE_RECORD_WIPED_H
#define HEW_TRACE_RECORD_WIPED_H

#include <stddef.h>

/* Maps zeros, which take memory where they are touched, a small page at a time.  NULL: refused.  Thread-safe. */
void *hew_trace_map_wiped(size_t bytes);

#endif
