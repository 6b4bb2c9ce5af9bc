/* SPDX-License-Identifier: MIT */
/*
 * stuck: alarm(STUCK_SECONDS) ends a process that hangs, a child above all, which ctest would leave behind.
 *
 * No time is measured by it: a machine so busy that a test takes longer is none that tests run on.  A little less than
 * the TIMEOUT of hew_add_test().
 */
#ifndef HEW_TESTS_STUCK_H
#define HEW_TESTS_STUCK_H

#include <unistd.h>

enum { STUCK_SECONDS = 1000 };

#endif
