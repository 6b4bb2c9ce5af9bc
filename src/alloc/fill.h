/* SPDX-License-Identifier: MIT */
/*
 * fill: the options junk and zero.  With either option threads have no cache, so every request passes through here.
 */
#ifndef HEW_ALLOC_FILL_H
#define HEW_ALLOC_FILL_H

#include "base/options.h"

#include <string.h>

#define HEW_JUNK_NEW 0xa5
#define HEW_JUNK_OLD 0x5a

static inline bool
hew_fill_wanted(void)
{
    return hew_options.zero || hew_options.junk != HEW_JUNK_FALSE;
}

/* Fills new memory as the options say.  Returns `object`, which may be NULL. */
static inline void *
hew_fill_new(void *object, size_t size)
{
    if (object == NULL || !hew_fill_wanted()) {
        return object;
    }
    if (hew_options.zero) {
        return memset(object, 0, size);
    }
    return hew_options.junk == HEW_JUNK_FREE ? object : memset(object, HEW_JUNK_NEW, size);
}

static inline void
hew_fill_freed(void *object, size_t size)
{
    if (hew_options.junk == HEW_JUNK_TRUE || hew_options.junk == HEW_JUNK_FREE) {
        memset(object, HEW_JUNK_OLD, size);
    }
}

#endif
