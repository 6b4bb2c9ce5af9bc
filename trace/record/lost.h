/* SPDX-License-Identifier: MIT */
/*
 * lost: at the end of the process, separates live objects that something still points to from lost ones.
 *
 * Promises  no malloc; memory is read with calls that cannot fault.  A scan from global data, thread stacks and anonymous
 *           mappings, through the objects that these point to; any word that looks like a pointer counts.
 * Needs     glibc's malloc, and a recording of every object from the start of the program.  Elsewhere nothing is
 *           written.
 * Format    docs/trace.md, "Lost".  Why: docs/decisions/0093-lost-or-still-reachable.md.
 */
#ifndef HEW_TRACE_RECORD_LOST_H
#define HEW_TRACE_RECORD_LOST_H

#include "base/compiler.h"

/* Called by the thread that ends the process, inside a record of its own. */
HEW_COLD void hew_trace_write_lost(void);

#endif
