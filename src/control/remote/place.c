/* SPDX-License-Identifier: MIT */
/* place: see place.h. */
#include "control/remote/place.h"

#include "base/options.h"
#include "base/text.h"
#include "os/entry.h"
#include "os/environment.h"
#include "os/fatal.h"
#include "os/socket.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Written at boot. */
static char runtime[HEW_SOCKET_PATH]; /* $XDG_RUNTIME_DIR, "" when there is none */

/* Written by the serving thread, before `owner`. */
static char taken[HEW_SOCKET_PATH];
static struct hew_entry taken_entry;
static _Atomic uint64_t owner; /* the process that created `taken`; 0: none */

static void
say(const char *what)
{
    hew_warn("no control socket", what);
}

void
hew_place_boot(void)
{
    struct hew_text text;
    const char *directory = hew_environment_get("XDG_RUNTIME_DIR");
    hew_text_begin(&text, runtime, sizeof runtime);
    if (directory != NULL && directory[0] == '/') {
        hew_text_put(&text, directory);
    }
    runtime[0] = text.truncated ? '\0' : runtime[0];
}

/* Finds the directory for `auto`; creates it if necessary, and checks that this user owns it. */
static bool
find_directory(char *directory)
{
    struct hew_text text;
    hew_text_begin(&text, directory, HEW_SOCKET_PATH);
    if (runtime[0] != '\0') {
        hew_text_put(&text, runtime);
        hew_text_put(&text, "/hew");
        if (!text.truncated && hew_entry_own_directory(directory)) {
            return true;
        }
    }
    hew_text_begin(&text, directory, HEW_SOCKET_PATH);
    hew_text_put(&text, "/tmp/hew-");
    hew_text_put_unsigned(&text, hew_entry_user());
    return hew_entry_own_directory(directory);
}

bool
hew_place_expand(const char *setting, uint64_t process, char *path)
{
    struct hew_text text;
    hew_text_begin(&text, path, HEW_SOCKET_PATH);
    for (; *setting != '\0'; setting++) {
        if (setting[0] == '%' && setting[1] == 'p') {
            hew_text_put_unsigned(&text, process);
            setting++;
        } else {
            hew_text_put_bytes(&text, setting, 1);
        }
    }
    return !text.truncated;
}

/* Stores the path in `path`, which has HEW_SOCKET_PATH bytes. */
static bool
choose(char *path)
{
    if (strcmp(hew_options.control, "auto") != 0) {
        bool fits = hew_place_expand(hew_options.control, hew_entry_process(), path) && path[0] == '/';
        if (!fits) {
            say("control: wants auto, or an absolute path of up to 107 bytes");
        }
        return fits;
    }
    char directory[HEW_SOCKET_PATH], pattern[HEW_SOCKET_PATH];
    struct hew_text text;
    if (!find_directory(directory)) {
        say("no directory of our own, mode 0700, in $XDG_RUNTIME_DIR or /tmp: try control:/a/path");
        return false;
    }
    hew_text_begin(&text, pattern, sizeof pattern);
    hew_text_put(&text, directory);
    hew_text_put(&text, "/%p");
    return !text.truncated && hew_place_expand(pattern, hew_entry_process(), path);
}

static int
listen_at(const char *path)
{
    struct hew_entry there;
    int listener = hew_socket_listen(path);
    /* A socket without a listener is left over from a killed process. */
    if (listener == -EADDRINUSE && hew_entry_look(path, &there) && there.is_socket && there.user == hew_entry_user() &&
        !hew_socket_is_alive(path)) {
        hew_entry_remove(path);
        listener = hew_socket_listen(path);
    }
    return listener;
}

int
hew_place_take(void)
{
    char path[HEW_SOCKET_PATH];
    if (!choose(path)) {
        return -EINVAL;
    }
    int listener = listen_at(path);
    if (listener == -EADDRINUSE) { /* another process with the same setting was first and keeps the path */
        return listener;
    }
    if (listener < 0) {
        say(path);
        return listener;
    }
    if (hew_entry_look(path, &taken_entry)) {
        memcpy(taken, path, sizeof taken);
        atomic_store(&owner, hew_entry_process());
    }
    return listener;
}

void
hew_place_leave(void)
{
    struct hew_entry there;
    uint64_t mine = hew_entry_process();
    if (atomic_compare_exchange_strong(&owner, &mine, 0) && hew_entry_look(taken, &there) &&
        hew_entry_same(&there, &taken_entry)) {
        hew_entry_remove(taken);
    }
}
