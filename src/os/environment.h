/* SPDX-License-Identifier: MIT */
/*
 * environment: what the process was started with: its environment, and the kernel's auxiliary vector.
 *
 * Promises  no call to libc: getenv() and the like may be taken over by a preloaded library that allocates.  Thread-safe, as far as
 *           nobody changes the environment meanwhile; keeps errno.
 */
#ifndef HEW_OS_ENVIRONMENT_H
#define HEW_OS_ENVIRONMENT_H

#include "base/compiler.h"

/* The variable's value, which belongs to the environment.  NULL: it is not set, or the process has more rights than its user. */
const char *hew_environment_get(const char *name);

/* An entry (AT_...) of the auxiliary vector; 0 when there is none. */
uintptr_t hew_environment_auxiliary(uintptr_t type);

#endif
