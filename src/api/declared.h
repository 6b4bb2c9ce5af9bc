/* SPDX-License-Identifier: MIT */
#ifndef HEW_API_DECLARED_H
#define HEW_API_DECLARED_H

/* At boot, before any other thread: makes the memory that the setting pools, free of faults, declares.  What there is no
 * memory for is said on a line, and malloc finds it later as it finds any. */
void hew_declared_reserve(const char *setting);

#endif
