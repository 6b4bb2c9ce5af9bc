/* SPDX-License-Identifier: MIT */
/*
 * dlopen_loop: a C++ library with thread-local data loaded and unloaded while threads allocate.
 *
 * The program itself is C: libstdc++ comes and goes with the library.
 */
#include "under_test.h"
#include "unit/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_bool stop;
static long (*plugin_work)(long);

static void *
call_plugin(void *argument)
{
    return (void *)plugin_work((long)(intptr_t)argument);
}

static void *
allocate_until_told(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    while (!stop) {
        size_t size = under_test_random(&random) % 5000 + 1;
        unsigned char *object = calloc(1, size);
        if (object == NULL || object[size - 1] != 0)
            abort();
        object[0] = 1;
        free(object);
    }
    return NULL;
}

TEST(a_library_with_thread_local_data_comes_and_goes)
{
    enum { LOOPS = 200, THREADS = 3 };
    pthread_t busy[2], caller[THREADS];
    void *first = NULL;
    stop = false;
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_EQUAL(pthread_create(&busy[i], NULL, allocate_until_told, (void *)(i + 1)), 0);
    for (int loop = 0; loop < LOOPS; loop++) {
        void *library = dlopen(HEW_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL), *sum = NULL;
        if (library == NULL) {
            printf("%s\n", dlerror());
            CHECK(!"the plugin cannot be loaded");
            break;
        }
        *(void **)&plugin_work = dlsym(library, "plugin_work");
        char *(*plugin_text)(void) = (char *(*)(void))dlsym(library, "plugin_text");
        for (size_t i = 0; i < THREADS; i++)
            CHECK_EQUAL(pthread_create(&caller[i], NULL, call_plugin, (void *)500), 0);
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(caller[i], &sum);
            first = first == NULL ? sum : first;
            CHECK(sum == first && sum != NULL);
        }
        char *text = plugin_text();
        CHECK_EQUAL(dlclose(library), 0);
        CHECK_EQUAL(strlen(text), 63);
        free(text);
    }
    stop = true;
    for (size_t i = 0; i < 2; i++)
        pthread_join(busy[i], NULL);
}

TEST(a_failed_dlopen_leaves_a_message_and_no_harm)
{
    for (int i = 0; i < 500; i++) {
        CHECK(dlopen("no-such-library.so", RTLD_NOW) == NULL);
        CHECK(strstr(dlerror(), "no-such-library.so") != NULL);
        CHECK(dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") == NULL);
        CHECK(dlerror() != NULL);
    }
}

/* Its static objects, and those of libstdc++, are destroyed at the very end: after the allocator's own destructors. */
TEST(a_library_left_open_frees_its_memory_at_exit)
{
    for (int i = 0; i < 10; i++) {
        int status = -1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            void *library = dlopen(HEW_TEST_PLUGIN, RTLD_NOW);
            long (*work)(long) = library != NULL ? (long (*)(long))dlsym(library, "plugin_work") : NULL;
            exit(work != NULL && work(300) > 0 ? 0 : 1);
        }
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
    }
}
