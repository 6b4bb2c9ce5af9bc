/* SPDX-License-Identifier: MIT */
#include "api/messages.h"

#include "hew/hew.h"
#include "os/fatal.h"

#include <string.h>

HEW_EXPORT HEW_WEAK const char *malloc_conf;
HEW_EXPORT HEW_WEAK const char *malloc_conf_2_conf_harder;
HEW_EXPORT HEW_WEAK void (*malloc_message)(void *context, const char *text);

/* Only the booting thread fills and empties it. */
#define HELD_BYTES ((size_t)32 << 10)
static char held[HELD_BYTES];
static size_t held_used;

#define HEW_QUOTE(value) #value
#define HEW_VERSION_TEXT(major, minor, patch) HEW_QUOTE(major) "." HEW_QUOTE(minor) "." HEW_QUOTE(patch)

HEW_EXPORT const char *
hew_version(void)
{
    return HEW_VERSION_TEXT(HEW_VERSION_MAJOR, HEW_VERSION_MINOR, HEW_VERSION_PATCH);
}

void
hew_messages_pass(void *context, const char *text)
{
    if (malloc_message != NULL) {
        malloc_message(context, text);
    } else {
        hew_os_write_error(text, strlen(text));
    }
}

void
hew_messages_write(const char *text, size_t length)
{
    hew_messages_pass(NULL, text);
}

void
hew_messages_hold(const char *text, size_t length)
{
    if (malloc_message == NULL || length + 1 > HELD_BYTES - held_used) {
        hew_os_write_error(text, length);
        return;
    }
    memcpy(held + held_used, text, length + 1);
    held_used += length + 1;
}

void
hew_messages_release(void)
{
    for (size_t at = 0; at < held_used; at += strlen(held + at) + 1) {
        hew_messages_pass(NULL, held + at);
    }
}
