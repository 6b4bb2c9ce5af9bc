/* SPDX-License-Identifier: MIT */
/*
 * check: how often the walks of check level 3 run.
 *
 * A walk at the end of every operation would make a heap of n extents n times slower.  So each operation saves up steps, and a
 * walk spends as many as it takes: one of up to HEW_CHECK_STEPS steps runs every time, a longer one as often as it has been
 * saved for.  Programs slow down by the same factor, however large they are.
 *
 * Thread-safe.  What is saved belongs to the process: relaxed, since only the rate depends on it.
 */
#ifndef HEW_OS_CHECK_H
#define HEW_OS_CHECK_H

#include "base/compiler.h"

#define HEW_CHECK_STEPS 256 /* about a microsecond */

/* At the end of an operation: whether a walk of so many steps is due. */
bool hew_check_may_walk(size_t steps);

#endif
