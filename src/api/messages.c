/* SPDX-License-Identifier: MIT */
#include "api/messages.h"

#include "hew/hew.h"
#include "os/fatal.h"

#include <string.h>

HEW_EXPORT HEW_WEAK const char *malloc_conf;
HEW_EXPORT HEW_WEAK const char *malloc_conf_2_conf_harder;
HEW_EXPORT HEW_WEAK void (*malloc_message)(void *context, const char *text);

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
