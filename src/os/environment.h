/* SPDX-License-Identifier: MIT */
/*
 * environment: the environment variables and the kernel's auxiliary vector.
 *
 * Promises  No call to libc: a preloaded library may replace getenv() and similar functions with versions that
 *           allocate.  Thread-safe as long as no thread changes the environment at the same time.  Keeps errno.
 */
#ifndef HEW_OS_ENVIRONMENT_H
#define HEW_OS_ENVIRONMENT_H

#include "base/compiler.h"

/* Returns the variable's value, which belongs to the environment.  NULL: it is not set, or the process has more
 * privileges than its user. */
const char *hew_environment_get(const char *name);

/* Whether the process has more privileges than its user (setuid, setgid, file capabilities).  The user must then not
 * influence it. */
bool hew_environment_is_secure(void);

/* Returns an entry (AT_...) of the auxiliary vector; 0: there is none. */
uintptr_t hew_environment_auxiliary(uintptr_t type);

#endif
