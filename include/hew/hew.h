/* SPDX-License-Identifier: MIT */
/*
 * hew: memory cut to fit.
 *
 * A program needs no header to use hew: linked or preloaded, it takes the place of malloc, free and their kin, and of
 * C++'s operator new and delete.  This header is for a program that wants to know that it did.
 */
#ifndef HEW_HEW_H
#define HEW_HEW_H

#ifdef __cplusplus
extern "C" {
#endif

#define HEW_VERSION_MAJOR 0
#define HEW_VERSION_MINOR 1
#define HEW_VERSION_PATCH 0

/*
 * The version of the library that is in use, "MAJOR.MINOR.PATCH".  A static string; never NULL; any thread, any time.
 * Declare it weak to ask whether hew is there at all.
 */
const char *hew_version(void);

#ifdef __cplusplus
}
#endif

#endif
