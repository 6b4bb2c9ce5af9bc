/* SPDX-License-Identifier: MIT */
#include "api/messages.h"

#include "hew/hew.h"

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
