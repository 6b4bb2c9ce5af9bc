/* SPDX-License-Identifier: MIT */
#include "control/settings/conf_file.h"

#include "os/file.h"

#include <string.h>

#define FILE_BYTES 16384 /* named below */

static bool
is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Moves the pairs of a line, [at, end), to `to`, with a comma before them where `more`; returns where they end.  A comma at the line's end
 * says what that says. */
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

/* A line's end, which goes, is the room for the comma before the next one. */
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
