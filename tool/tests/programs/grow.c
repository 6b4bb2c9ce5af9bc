/* grow leak|peaks|flat: takes a step with each line from standard input, and says "done" when it is made.
 * leak: 20,000 objects of 32 bytes more. peaks: every eighth step a peak, each higher than the one before. flat: the same
 * amount anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 20000, SMALL = 32, PEAK = 1000, OTHER = 3000, FLAT_OBJECTS = 2000, STEPS_TO_PEAK = 8 };

static void
take_and_give(int count, size_t size)
{
    void **held = malloc((size_t)count * sizeof *held);
    for (int i = 0; i < count; i++) {
        held[i] = malloc(size);
        memset(held[i], 1, size);
    }
    for (int i = 0; i < count; i++) {
        free(held[i]);
    }
    free(held);
}

static void *volatile last;

static void
leak(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        void **object = malloc(SMALL);
        *object = last;
        last = object;
    }
}

int
main(int words, char **word)
{
    const char *what = words > 1 ? word[1] : "";
    char line[8];
    for (int step = 0; fgets(line, sizeof line, stdin) != NULL; step++) {
        if (strcmp(what, "leak") == 0) {
            leak();
        } else if (strcmp(what, "peaks") == 0 && step % STEPS_TO_PEAK == 0) {
            take_and_give(PEAK * (step / STEPS_TO_PEAK + 1) * 4, OTHER);
        } else {
            take_and_give(FLAT_OBJECTS, OTHER);
        }
        puts("done");
        fflush(stdout);
    }
    return 0;
}
