/* SPDX-License-Identifier: MIT */
/*
 * image: reads an ELF file's headers from where it is mapped.
 *
 * Promises  reads cannot fault; no memory, no lock.
 */
#ifndef HEW_PROF_IMAGE_H
#define HEW_PROF_IMAGE_H

#include "base/compiler.h"

struct hew_image_code {
    uintptr_t begin, end; /* whole pages */
    uint64_t offset;      /* in the file */
};

/* Copies the build id of the file mapped at `begin` and returns its length; 0: none. */
unsigned hew_image_build_id(uintptr_t begin, uint8_t *id, unsigned most);

/* Finds the file's code.  False: not an ELF file, or it has no code. */
bool hew_image_code(uintptr_t begin, struct hew_image_code *code);

#endif
