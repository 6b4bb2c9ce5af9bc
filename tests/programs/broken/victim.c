/* SPDX-License-Identifier: MIT */
/*
 * victim: a program whose output depends on what malloc gives it.
 *
 * Prints    the sum of bytes that calloc promised to be zero and of bytes it wrote itself; with the argument "version",
 *           only its version; with "moody" and the name of a file, in which it counts its runs, something else in its
 *           second and fourth run.
 * Promises  to live long enough for its maps to be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number of this run, starting at 1: the file has one byte for each. */
static int
count_run(const char *path)
{
    FILE *file = fopen(path, "a");
    if (file == NULL) {
        return 0;
    }
    fputc('.', file);
    int run = (int)ftell(file);
    fclose(file);
    return run;
}

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
    if (count > 2 && strcmp(words[1], "moody") == 0) {
        int run = count_run(words[2]);
        puts(run == 2 || run == 4 ? "good" : "bad");
    }
    usleep(300000);
    return 0;
}
