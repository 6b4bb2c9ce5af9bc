/* SPDX-License-Identifier: MIT */
/*
 * image: what an ELF file says of itself where it is mapped from its beginning.
 *
 * Promises  reads that cannot fault; no memory, no lock.
 */
#ifndef HEW_PROF_IMAGE_H
#define HEW_PROF_IMAGE_H

#include "base/compiler.h"

struct hew_image_code {
    uintptr_t begin, end; /* whole pages */
    uint64_t offset;      /* in the file */
};

/* The build id of the file that is mapped at `begin`; its length, 0: none. */
unsigned hew_image_build_id(uintptr_t begin, uint8_t *id, unsigned most);

/* Where its code is.  False: it is no such file, or has none. */
bool hew_image_code(uintptr_t begin, struct hew_image_code *code);

#endif
