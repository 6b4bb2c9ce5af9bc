/* SPDX-License-Identifier: MIT */
/*
 * plugin_inside: a plugin with an allocator of its own, the archive with a prefix; for plugin_closed.c.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *je_malloc(size_t size);
void je_free(void *object);
int je_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

void plugin_work(size_t mebibytes);
uint64_t plugin_rounds(void);

void
plugin_work(size_t mebibytes)
{
    enum { OBJECTS = 64 };
    static __thread char *objects[OBJECTS];
    size_t size = (mebibytes << 20) / OBJECTS;
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = je_malloc(size);
        if (objects[i] != NULL) {
            memset(objects[i], 1, size);
        }
    }
    for (int i = 0; i < OBJECTS; i++) {
        je_free(objects[i]);
    }
    for (int i = 0; i < 1000; i++) {
        je_free(je_malloc(100));
    }
}

/* How often the purger's thread has looked. */
uint64_t
plugin_rounds(void)
{
    uint64_t epoch = 1, rounds = 0;
    size_t size = sizeof rounds;
    je_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    je_mallctl("stats.background_thread.num_runs", &rounds, &size, NULL, 0);
    return rounds;
}
