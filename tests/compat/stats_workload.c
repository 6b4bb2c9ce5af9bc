/* SPDX-License-Identifier: MIT */
/* stats_workload: a program that leaves something behind for the report at its end; see stats_json.py. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *
work(void *unused)
{
    void *objects[1000];
    for (size_t index = 0; index < 1000; index++) {
        objects[index] = malloc(index * 40 + 1);
        memset(objects[index], 1, index * 40 + 1);
    }
    for (size_t index = 0; index < 1000; index += 2) {
        free(objects[index]);
    }
    return unused;
}

int
main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    work(NULL);
    return 0;
}
