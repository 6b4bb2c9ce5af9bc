/* SPDX-License-Identifier: MIT */
/* late_load LIBRARY: an allocator comes by dlopen(), as a part of a plugin, while threads run.  The loader has little static
 * thread-local storage for libraries that come late. */
#include "field.h"

#include <dlfcn.h>
#include <pthread.h>

static void *(*take)(size_t);
static void (*give)(void *);
static pthread_barrier_t loaded;

static void *
work(void *unused)
{
    pthread_barrier_wait(&loaded);
    for (int i = 1; i < 10000; i++) {
        char *object = take((size_t)i % 3000 + 1);
        FIELD_EXPECT(object != NULL, "the late allocator serves");
        object[0] = 1;
        give(object);
    }
    return unused;
}

int
main(int count, char **words)
{
    pthread_t threads[4];
    pthread_barrier_init(&loaded, NULL, 5);
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    void *library = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    FIELD_EXPECT(library != NULL, "%s", dlerror());
    take = (void *(*)(size_t))dlsym(library, "malloc");
    give = (void (*)(void *))dlsym(library, "free");
    pthread_barrier_wait(&loaded);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
