/* SPDX-License-Identifier: MIT */
/*
 * Reaches malloc in every way that a program can, after a line of input, and says for each which allocator served it.
 *
 *     swap_corners LIBHEW PLUGIN     PLUGIN is another library, with a function make() that allocates
 *
 * Says "ready".  Then to each line of input "WAY hew" or "WAY old" for each way.  Ends with its input.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 5000
#define LINE 100

static const char *hew, *plugin;
static void *(*volatile stored)(size_t) = malloc;

/* Bytes that hew has given to this thread; 0 while it is not loaded. */
static uint64_t
given_by_hew(void)
{
    uint64_t bytes = 0;
    size_t length = sizeof bytes;
    void *library = dlopen(hew, RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) {
        int (*ctl)(const char *, void *, size_t *, void *, size_t) =
            (int (*)(const char *, void *, size_t *, void *, size_t))dlsym(library, "mallctl");
        ctl("thread.allocated", &bytes, &length, NULL, 0);
        dlclose(library);
    }
    return bytes;
}

static void *
in_libc(size_t size)
{
    char text[SIZE + 1];
    memset(text, 'x', size);
    text[size] = '\0';
    return strdup(text);
}

static void *
in_plugin(size_t size)
{
    void *library = dlopen(plugin, RTLD_NOW);
    void *(*make)(size_t) = (void *(*)(size_t))dlsym(library, "make");
    void *object = make(size);
    dlclose(library);
    return object;
}

static void *
by_realloc(size_t size)
{
    return realloc(NULL, size);
}

static void *
aligned(size_t size)
{
    void *object;
    return posix_memalign(&object, 64, size) == 0 ? object : NULL;
}

static int
is_on_hew(void *(*allocate)(size_t))
{
    uint64_t before = given_by_hew();
    void *object = allocate(SIZE);
    uint64_t after = given_by_hew();
    memset(object, 1, SIZE);
    free(object);
    return after - before >= SIZE;
}

static void *
in_thread(void *unused)
{
    return is_on_hew(malloc) ? unused : NULL;
}

/* The child has to free an object of before, too. */
static int
in_child(void *old)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        free(old);
        _exit(is_on_hew(malloc));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
say(const char *way, int on_hew)
{
    printf("%s %s ", way, on_hew == 1 ? "hew" : on_hew == 0 ? "old" : "died");
}

static void
say_all(char *old)
{
    pthread_t thread;
    void *result;
    say("direct", is_on_hew(malloc));
    say("stored", is_on_hew(stored));
    say("dlsym", is_on_hew((void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc")));
    say("dlvsym", is_on_hew((void *(*)(size_t))dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.2.5")));
    say("realloc", is_on_hew(by_realloc));
    say("aligned", is_on_hew(aligned));
    say("libc", is_on_hew(in_libc));
    say("plugin", is_on_hew(in_plugin));
    pthread_create(&thread, NULL, in_thread, old);
    pthread_join(thread, &result);
    say("thread", result != NULL);
    say("child", in_child(old));
    puts("");
    fflush(stdout);
}

int
main(int count, char **words)
{
    char line[LINE], *old[LINE] = {0};
    if (count != 3) {
        return 2;
    }
    hew = words[1];
    plugin = words[2];
    for (int i = 0; i < LINE; i++) {
        old[i] = strdup("of the time before");
    }
    puts("ready");
    fflush(stdout);
    for (int i = 0; i + 2 < LINE && fgets(line, sizeof line, stdin) != NULL; i += 2) {
        say_all(old[i]);
        old[i] = realloc(old[i], SIZE); /* moves to hew */
        if (strcmp(old[i], "of the time before") != 0 || malloc_usable_size(old[i + 1]) < sizeof "of the time before") {
            return 1;
        }
        free(old[i]);
        free(old[i + 1]);
    }
    return 0;
}
