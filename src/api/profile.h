/* SPDX-License-Identifier: MIT */
/*
 * profile: the heap profile at the process's end, and what is said of leaks then.
 */
#ifndef HEW_API_PROFILE_H
#define HEW_API_PROFILE_H

/* For atexit(). */
void hew_profile_at_exit(void);

#endif
