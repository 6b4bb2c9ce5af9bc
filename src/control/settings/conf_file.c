/* SPDX-License-Identifier: MIT */
#include "control/settings/conf_file.h"

#include "os/file.h"

#include <string.h>

#define FILE_BYTES 16384 /* the number is repeated in a message below */

static bool
is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Copies the pairs of a line, [at, end), to `to`, with a comma before them if `more`; returns their end.  A comma at
 * the line's end is dropped: the newline means the same. */
static char *
take_line(const char *at, const char *end, char *to, bool more)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    while (at < end && (is_blank(end[-1]) || end[-1] == ',')) {
        end--;
    }
    if (at == end || *at == '#') {
        return to;
    }
    if (more) {
        *to++ = ',';
    }
    memmove(to, at, (size_t)(end - at));
    return to + (end - at);
}

/* The removed newline makes space for the comma before the next line. */
static void
join_lines(char *text)
{
    char *to = text;
    for (const char *at = text, *end; *at != '\0'; at = end + (*end == '\n')) {
        end = strchr(at, '\n');
        end = end != NULL ? end : at + strlen(at);
        to = take_line(at, end, to, to != text);
    }
    *to = '\0';
}

HEW_COLD const char *
hew_conf_file_read(const char *path, const char **fault)
{
    static char text[FILE_BYTES];
    size_t length = hew_file_read_whole(path, text, sizeof text);
    *fault = length == 0              ? "it cannot be read, is no file, or is empty"
             : length == sizeof text  ? "it has 16384 bytes or more"
             : strlen(text) != length ? "it has a byte of zero"
                                      : NULL;
    if (*fault != NULL) {
        return NULL;
    }
    join_lines(text);
    return text;
}
