/* SPDX-License-Identifier: MIT */
/*
 * Allocates from malloc, and three times as often from a copy of jemalloc under a prefix: or what a tool takes for one.
 *
 *     two_pools     says "ready"; ends with its input
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define COPY __attribute__((noinline, noclone))
#define POOL 4096

static const char *volatile text = "<jemalloc>: Malformed conf string";
static char pool[POOL];
static size_t used;

COPY int
my_mallctlnametomib(void)
{
    return text[0];
}

COPY void *
my_malloc(size_t size)
{
    used = (used + size) % (POOL / 2);
    return pool + used;
}

int
main(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 1) <= 0) { /* less after a signal, and after a swap */
        char *volatile object = malloc(30);
        free(object);
        for (int i = 0; i < 3; i++) {
            object = my_malloc(8);
            *object = 1;
        }
    }
    return 0;
}
