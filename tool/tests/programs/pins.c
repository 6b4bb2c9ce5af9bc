/* SPDX-License-Identifier: MIT */
/*
 * pins: a burst of small objects of which one in 50 stays, each of another slab than its neighbours', and a dense block that
 * no slab is kept by.  Says "ready", and waits until its standard input ends.  What thread caches and depots hold of the burst would keep
 * slabs full, some megabytes for some seconds: malloc_trim() empties them.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { BURST = 200000, STAYS = 50, DENSE = 2000 };

static void *objects[BURST], *dense[DENSE];

__attribute__((noinline)) static void *
passes(void)
{
    return malloc(150);
}

__attribute__((noinline)) static void *
stays(void)
{
    return malloc(150);
}

__attribute__((noinline)) static void *
packed(void)
{
    return malloc(1000);
}

int
main(void)
{
    for (int i = 0; i < BURST; i++) {
        objects[i] = i % STAYS == 0 ? stays() : passes();
    }
    for (int i = 0; i < DENSE; i++) {
        dense[i] = packed();
    }
    for (int i = 0; i < BURST; i++) {
        if (i % STAYS != 0) {
            free(objects[i]);
        }
    }
    malloc_trim(0);
    puts("ready");
    fflush(stdout);
    return getchar() == EOF ? dense[0] == NULL : 1;
}
