/* SPDX-License-Identifier: MIT */
/*
 * conf_file: reads the file that the setting conf_file names: lines of name:value,name:value.  Blank lines and lines
 * that begin with # are ignored.
 *
 * Called    at boot, by one thread.
 * Not here  the meaning of a pair: conf.c.  Which file, and when it applies: conf_sources.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_FILE_H
#define HEW_CONTROL_SETTINGS_CONF_FILE_H

/* The file's pairs as one text, valid until the next call.  NULL on error; then `*fault` is a message for people. */
const char *hew_conf_file_read(const char *path, const char **fault);

#endif
