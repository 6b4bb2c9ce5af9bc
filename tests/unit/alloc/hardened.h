/* SPDX-License-Identifier: MIT */
/* hardened: how a test of a level of hardening begins.  Included by one source of a program. */
#ifndef HEW_TESTS_UNIT_ALLOC_HARDENED_H
#define HEW_TESTS_UNIT_ALLOC_HARDENED_H

#include "alloc/harden.h"

#include "layers_alloc.h"
#include "os/fatal.h"
#include "test.h"

#include <string.h>

static unsigned harden_reports; /* since the test began */
static char harden_last[512];   /* the last line of them */

static void
harden_hear(const char *line)
{
    harden_reports++;
    strncpy(harden_last, line, sizeof harden_last - 1);
}

static inline void
harden_begin(unsigned level)
{
    if (hew_small_end == 0) {
        hew_options.hardening = (uint8_t)level;
        hew_harden_boot();
        CHECK(layers_boot());
        hew_fatal_set_hook(harden_hear);
        layers_free(layers_malloc(1)); /* gives the thread a cache */
        CHECK(hew_harden_birth(hew_cache_self->real));
    }
    harden_reports = 0;
}

#endif
