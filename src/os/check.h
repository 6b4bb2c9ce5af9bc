/* SPDX-License-Identifier: MIT */
/*
 * check: decides how often the walks of check level 3 run.
 *
 * A walk at the end of every operation would make a heap of n extents n times slower.  So each operation adds to a
 * budget of steps, and a walk spends as many steps as it takes.  A walk of up to HEW_CHECK_STEPS steps runs every time.
 * A longer one runs as often as the budget allows.  All programs slow down by the same factor, whatever their size.
 *
 * Thread-safe.  The budget belongs to the process.  Its accesses are relaxed, because only the rate depends on it.
 */
#ifndef HEW_OS_CHECK_H
#define HEW_OS_CHECK_H

#include "base/compiler.h"

#define HEW_CHECK_STEPS 256 /* about a microsecond */

/* Call at the end of an operation.  Returns true if a walk of `steps` steps is due. */
bool hew_check_may_walk(size_t steps);

#endif
