/* asks SIZE SPREAD COUNT: holds COUNT objects of SIZE to SIZE + SPREAD - 1 bytes; says "ready", and replaces them one
 * after the other until it is killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 200 };

int
main(int count, char **words)
{
    if (count != 4)
        return 2;
    size_t size = strtoul(words[1], NULL, 10), spread = strtoul(words[2], NULL, 10);
    size_t amount = strtoul(words[3], NULL, 10);
    char **objects = calloc(amount, sizeof *objects);
    for (size_t i = 0;; i++) {
        size_t at = i % amount, wanted = size + i % spread;
        free(objects[at]);
        objects[at] = malloc(wanted);
        memset(objects[at], 1, wanted);
        if (i + 1 == amount && (puts("ready") == EOF || fflush(stdout) != 0))
            return 1;
        if (i >= amount && i % AT_ONCE == 0)
            usleep(1000);
    }
}
