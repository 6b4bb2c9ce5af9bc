/* SPDX-License-Identifier: MIT */
/*
 * profile: the heap profile and the log of samples at the end of the process, and what is said of leaks then.
 */
#ifndef HEW_API_PROFILE_H
#define HEW_API_PROFILE_H

/* For atexit(). */
void hew_profile_at_exit(void);

#endif
