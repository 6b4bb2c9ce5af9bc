// SPDX-License-Identifier: MIT
/* After a byte from standard input keeps memory that code allocated which is hard to find afterwards, and waits.
 *
 *     keeps chroot FOLDER      the program's own, below another root
 *     keeps deleted PLUGIN     a library whose file is gone
 *     keeps memory PLUGIN      a library in a memfd
 *     keeps closed PLUGIN      a library that was closed
 *     keeps gone PLUGIN        both closed and gone
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum { OBJECTS = 64, BYTES = 40960 };

static void *kept[OBJECTS];

__attribute__((noinline)) void
keep_own(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        kept[i] = malloc(BYTES);
    }
    __asm__ volatile("" ::: "memory");
}

static void *
load(const char *path, int in_memory)
{
    char place[64];
    int from = open(path, O_RDONLY), to = memfd_create("plugin", 0);

    while (sendfile(to, from, NULL, 1 << 20) > 0) {
    }
    close(from);
    snprintf(place, sizeof place, "/proc/self/fd/%d", to);
    return dlopen(in_memory ? place : path, RTLD_NOW);
}

int
main(int count, char **words)
{
    const char *way = count > 2 ? words[1] : "";

    getchar(); /* hew opens its control socket in the meantime */

    if (strcmp(way, "chroot") == 0) {
        keep_own();
        if (chroot(words[2]) != 0 || chdir("/") != 0) {
            return 2;
        }
    } else {
        void *plugin = load(words[2], strcmp(way, "memory") == 0);
        void (*keep)(void **objects) = plugin == NULL ? NULL : (void (*)(void **))dlsym(plugin, "keep_for_plugin");
        if (keep == NULL) {
            return 3;
        }
        keep(kept);
        if (strcmp(way, "closed") == 0 || strcmp(way, "gone") == 0) {
            dlclose(plugin);
        }
        if (strcmp(way, "deleted") == 0 || strcmp(way, "gone") == 0) {
            unlink(words[2]);
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
