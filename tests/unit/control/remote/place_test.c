/* SPDX-License-Identifier: MIT */
#include "control/remote/place.h"

#include "base/options.h"
#include "os/entry.h"
#include "os/socket.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static char *
inside(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s%s", directory, name);
    return path;
}

TEST(the_process_takes_the_place_of_its_sign)
{
    char path[HEW_SOCKET_PATH];
    CHECK(hew_place_expand("/run/%p/hew.%p", 42, path));
    CHECK_TEXT(path, "/run/42/hew.42");
    CHECK(hew_place_expand("/run/100%", 42, path));
    CHECK_TEXT(path, "/run/100%");
    char setting[HEW_SOCKET_PATH];
    memset(setting, '/', sizeof setting);
    memcpy(setting + sizeof setting - 3, "%p", 3);
    CHECK(hew_place_expand(setting, 42, path));
    CHECK(!hew_place_expand(setting, 100000, path));
}

TEST(a_place_is_taken_and_left)
{
    strcpy(directory, "/tmp/hew_place_XXXXXX");
    CHECK(mkdtemp(directory) != NULL);
    strcpy(hew_options.control, inside("/socket"));
    int listener = hew_place_take();
    struct stat status;
    CHECK(listener >= 0);
    CHECK(stat(inside("/socket"), &status) == 0 && S_ISSOCK(status.st_mode) && (status.st_mode & 0777) == 0600);
    CHECK(hew_place_take() < 0); /* taken */
    hew_place_leave();
    CHECK(access(inside("/socket"), F_OK) != 0);
    hew_socket_close(listener);
}

TEST(what_is_not_ours_any_more_stays)
{
    int listener = hew_place_take();
    CHECK(listener >= 0);
    unlink(inside("/socket"));
    CHECK(close(open(inside("/socket"), O_CREAT | O_WRONLY, 0600)) == 0);
    hew_place_leave();
    CHECK(access(inside("/socket"), F_OK) == 0);
    hew_socket_close(listener);
    unlink(inside("/socket"));
}

TEST(a_directory_for_sockets_is_ours_alone)
{
    CHECK(hew_entry_own_directory(inside("/new")));
    CHECK(hew_entry_own_directory(inside("/new")));
    CHECK_EQUAL(chmod(inside("/new"), 0755), 0);
    CHECK(!hew_entry_own_directory(inside("/new")));
    CHECK_EQUAL(symlink(directory, inside("/link")), 0);
    CHECK(!hew_entry_own_directory(inside("/link")));
    unlink(inside("/link"));
    rmdir(inside("/new"));
}

TEST(auto_is_in_the_runtime_directory)
{
    char path[128];
    setenv("XDG_RUNTIME_DIR", directory, 1);
    strcpy(hew_options.control, "auto");
    hew_place_boot();
    int listener = hew_place_take();
    CHECK(listener >= 0);
    snprintf(path, sizeof path, "%s/hew/%d", directory, (int)getpid());
    CHECK(access(path, F_OK) == 0);
    hew_place_leave();
    CHECK(access(path, F_OK) != 0);
    hew_socket_close(listener);
    rmdir(inside("/hew"));
    rmdir(directory);
}

TEST(a_path_that_is_none_is_said)
{
    strcpy(hew_options.control, "relative");
    CHECK(hew_place_take() < 0);
    strcpy(hew_options.control, "/nowhere/at/all/hew");
    CHECK(hew_place_take() < 0);
}
