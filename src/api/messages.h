/* SPDX-License-Identifier: MIT */
/*
 * messages: the data symbols that a program may define itself, and the output of text for people.
 */
#ifndef HEW_API_MESSAGES_H
#define HEW_API_MESSAGES_H

#include "base/compiler.h"

/* Settings compiled into a program; weak, so that the program's own definition wins. */
extern const char *malloc_conf;
extern const char *malloc_conf_2_conf_harder;

/* Receives text; NULL: standard error. */
extern void (*malloc_message)(void *context, const char *text);

/* Write NUL-terminated text to malloc_message or standard error.  hew_messages_pass() also takes malloc_message's
 * context. */
void hew_messages_pass(void *context, const char *text);
void hew_messages_write(const char *text, size_t length);

/* Write text during boot.  malloc_message may call malloc, so hew_messages_hold() keeps the text until malloc works,
 * and hew_messages_release() delivers it.  Text for standard error, and text that does not fit, is written to standard
 * error immediately. */
void hew_messages_hold(const char *text, size_t length);
void hew_messages_release(void);

#endif
