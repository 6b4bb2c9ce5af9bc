/* SPDX-License-Identifier: MIT */
/* request_record: see request.h. */
#include "control/remote/request.h"

#include "base/text.h"

#include <dlfcn.h>
#include <string.h>

/* Before glibc 2.34 dlsym() is in libdl.so.2, like dlopen(); a static program may have neither. */
#pragma weak dlsym

#define NUMBERS 6

/* The library's functions; all are set or none. */
static struct {
    long (*attach)(const char *file, const uint64_t numbers[5]);
    long (*look)(void);
    void (*detach)(void);
} recorder;

static bool
find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool
load(const char *path)
{
    void *(*open)(const char *, int);
    void *library;
    if (recorder.attach != NULL) {
        return true;
    }
    if (dlsym == NULL || !find(RTLD_DEFAULT, "dlopen", &open) ||
        (library = open(path, RTLD_NOW | RTLD_LOCAL)) == NULL) {
        return false;
    }
    return find(library, "hew_trace_look", &recorder.look) && find(library, "hew_trace_detach", &recorder.detach) &&
           find(library, "hew_trace_attach", &recorder.attach);
}

static void
tell_number(struct hew_reply *reply, long number)
{
    char digits[32];
    struct hew_text text;
    hew_text_begin(&text, digits, sizeof digits);
    hew_text_put_unsigned(&text, (uint64_t)number);
    hew_reply_put_bytes(reply, digits, text.length);
    hew_reply_end(reply, "u64");
}

/* Parses the numbers separated by commas. */
static bool
read_numbers(const char *text, uint64_t numbers[NUMBERS])
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        for (numbers[i] = 0; *text >= '0' && *text <= '9'; text++) {
            if (numbers[i] > UINT64_MAX / 10 - 1) {
                return false;
            }
            numbers[i] = numbers[i] * 10 + (uint64_t)(*text - '0');
        }
        if (*text != (i + 1 < NUMBERS ? ',' : '\0')) {
            return false;
        }
        text++;
    }
    return true;
}

static void
begin(const char *what, char *rest, struct hew_reply *reply)
{
    uint64_t numbers[NUMBERS];
    bool whole = rest != NULL && read_numbers(what, numbers) && numbers[1] != 0 && numbers[5] < strlen(rest) &&
                 rest[numbers[5]] == ' ' && rest[0] == '/' && rest[numbers[5] + 1] == '/';
    if (!whole) {
        hew_reply_refuse(reply, "malformed", "record takes look, stop, or six numbers and two absolute paths", "");
        return;
    }
    rest[numbers[5]] = '\0';
    if (!load(rest)) {
        hew_reply_refuse(reply, "failed", "the process cannot load ", rest);
        return;
    }
    long slots = recorder.attach(rest + numbers[5] + 1, numbers);
    if (slots == -1) {
        hew_reply_refuse(reply, "busy", "the process is being recorded already", "");
    } else if (slots < 0) {
        hew_reply_refuse(reply, "failed", "nothing in the process calls malloc in a way that can be recorded", "");
    } else {
        tell_number(reply, slots);
    }
}

void
hew_request_record(const char *what, char *rest, struct hew_reply *reply)
{
    bool look = strcmp(what, "look") == 0;
    if (!look && strcmp(what, "stop") != 0) {
        begin(what, rest, reply);
        return;
    }
    long bytes = recorder.attach == NULL ? -1 : recorder.look();
    if (!look && recorder.attach != NULL) {
        recorder.detach(); /* also for a recording that has ended by itself: it left the program's calls redirected */
    }
    if (bytes < 0) {
        hew_reply_refuse(reply, "failed", "the process is not being recorded", "");
    } else {
        tell_number(reply, bytes);
    }
}
