/* SPDX-License-Identifier: MIT */
/*
 * field: what the programs after public reports share (docs/field_reports.md).
 *
 * They know nothing of hew and run under any allocator: LD_PRELOAD=libjemalloc.so.2 field_<name>.  HEW_TEST_LIBRARY names the one
 * that must be in use.
 */
#ifndef HEW_TESTS_FIELD_H
#define HEW_TESTS_FIELD_H

#include "under_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELD_SKIPPED = 77 };

/* Ends the program where something does not hold. */
#define FIELD_EXPECT(condition, ...)                                                                                   \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("not so: " __VA_ARGS__);                                                                            \
            printf(" (%s)\n", #condition);                                                                             \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#endif
