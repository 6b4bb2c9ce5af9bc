/* SPDX-License-Identifier: MIT */
/*
 * messages: the data symbols that a program may define for itself, and text for people.
 */
#ifndef HEW_API_MESSAGES_H
#define HEW_API_MESSAGES_H

#include "base/compiler.h"

/* Settings compiled into a program; weak, so that the program's own definition wins. */
extern const char *malloc_conf;
extern const char *malloc_conf_2_conf_harder;

/* Where text goes; NULL: standard error. */
extern void (*malloc_message)(void *context, const char *text);

/* Text that ends in NUL, to malloc_message or standard error; the first one tells malloc_message its context. */
void hew_messages_pass(void *context, const char *text);
void hew_messages_write(const char *text, size_t length);

/* The same at boot: malloc_message may call malloc, so it gets the text by hew_messages_release(), once malloc works.  Standard
 * error gets it at once, also what finds no space. */
void hew_messages_hold(const char *text, size_t length);
void hew_messages_release(void);

#endif
