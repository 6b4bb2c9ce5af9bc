/* SPDX-License-Identifier: MIT */
/*
 * victim: a program whose output depends on what malloc gives it.
 *
 * Prints    the sum of bytes that calloc promised to be zero and of bytes it wrote itself; with the argument "clock",
 *           also something that no two runs share; with "version", only its version.
 * Promises  to live long enough for its maps to be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int
main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "version") == 0) {
        puts("version 1.0");
        return 0;
    }
    unsigned long sum = 0;
    for (int round = 0; round < 5000; round++) {
        size_t size = (size_t)(round % 200) + 1;
        unsigned char *zeros = calloc(1, size);
        unsigned char *bytes = realloc(malloc(size), size * 2);
        if (zeros == NULL || bytes == NULL) {
            return 1;
        }
        memset(bytes, round & 255, size * 2);
        for (size_t i = 0; i < size; i++) {
            sum = sum * 31 + zeros[i] + bytes[i];
        }
        free(zeros);
        free(bytes);
    }
    printf("sum %lx\n", sum);
    if (count > 1 && strcmp(words[1], "clock") == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%ld\n", now.tv_nsec);
    }
    usleep(300000);
    return 0;
}
