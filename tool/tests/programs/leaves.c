/* SPDX-License-Identifier: MIT */
/* leaves [COUNT]: frees COUNT pieces of 64 KiB, waits a moment, prints how many KiB stay resident; and a constant. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096, SIZE = 65536 };

int main(int argc, char **argv)
{
    static char *held[MOST];
    int count = argc > 1 ? atoi(argv[1]) : 256;
    long whole = 0, resident = 0;
    for (int i = 0; i < count && i < MOST; i++)
        memset(held[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < count && i < MOST; i++)
        free(held[i]);
    usleep(5000);
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &whole, &resident) != 2)
        return 1;
    printf("stays %ld KiB\nconstant 42\n", resident * 4);
    return 0;
}
