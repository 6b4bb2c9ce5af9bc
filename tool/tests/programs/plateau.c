// SPDX-License-Identifier: MIT
// plateau OBJECTS BYTES EVERY [LARGE [THREADS]]: allocates OBJECTS of BYTES (in each of THREADS more threads, too), keeps each
// EVERYth and the last and frees the others, holds LARGE bytes in a mapping, tells what mallinfo2 and malloc_info know,
// then waits; each line that it reads makes it call malloc_trim and tell again. With EVERY 0 it allocates and frees for ever.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t objects, bytes, every;
static pthread_barrier_t ready;

static void
fill(void)
{
    char **held = malloc(objects * sizeof *held);
    for (size_t i = 0; i < objects; i++)
        held[i] = memset(malloc(bytes), 1, bytes);
    for (size_t i = 0; i + 1 < objects; i++)
        if (every != 0 && i % every != 0)
            free(held[i]);
}

static void
churn(void)
{
    enum { HELD = 4096 };
    static char *held[HELD];
    unsigned seed = 1;
    for (;;) {
        seed = seed * 1664525 + 1013904223;
        size_t at = (seed >> 8) % HELD;
        free(held[at]);
        held[at] = malloc(16 + (seed >> 20));
    }
}

static void *
work(void *unused)
{
    fill();
    pthread_barrier_wait(&ready);
    pause();
    return unused;
}

static void
tell(void)
{
    static char text[1 << 16];
    static char buffer[1 << 16];
    FILE *file = fmemopen(buffer, sizeof buffer, "w");
    setvbuf(file, NULL, _IONBF, 0);
    malloc_info(0, file);
    fflush(file);
    struct mallinfo info = mallinfo(); // mallinfo2 came with 2.33
    int length = snprintf(text, sizeof text, "%u %u %u %u %u\n", (unsigned)info.arena, (unsigned)info.fordblks,
                          (unsigned)info.fsmblks, (unsigned)info.keepcost, (unsigned)info.hblkhd);
    write(1, text, (size_t)length);
    write(1, buffer, strlen(buffer));
    write(1, "end\n", 4);
}

int
main(int argc, char **argv)
{
    objects = strtoul(argv[1], NULL, 10);
    bytes = strtoul(argv[2], NULL, 10);
    every = strtoul(argv[3], NULL, 10);
    size_t large = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    unsigned threads = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
    char line[8], *mapping = large ? memset(malloc(large), 1, large) : NULL;
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&thread, NULL, work, NULL);
    pthread_barrier_wait(&ready);
    if (every == 0) {
        write(1, "busy\nend\n", 9);
        churn();
    }
    fill();
    tell();
    while (read(0, line, sizeof line) > 0) {
        malloc_trim(0);
        tell();
    }
    free(mapping);
    return 0;
}
