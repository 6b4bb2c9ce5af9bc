/* SPDX-License-Identifier: MIT */
/*
 * conf_file: a file of settings, which the setting conf_file names: lines of name:value,name:value; blank ones, and those that
 * begin with #, say nothing.
 *
 * Called    at boot, by one thread.
 * Not here  what a pair means: conf.c.  Which file, and when it applies: conf_sources.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_FILE_H
#define HEW_CONTROL_SETTINGS_CONF_FILE_H

/* The file's pairs as one text, which stays until the next call.  NULL: it is none, and `*fault` says why, for people. */
const char *hew_conf_file_read(const char *path, const char **fault);

#endif
