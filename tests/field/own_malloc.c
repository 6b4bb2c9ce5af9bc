/* SPDX-License-Identifier: MIT */
/* own_malloc: a program brings its own malloc, calloc, realloc and free, and nothing else (as bash can, or a program with a jemalloc
 * inside that has fewer names); a preloaded allocator has more.  What the C library and the program get by the others must
 * still be freed by the right one. */
#include "field.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

struct head {
    size_t size;
    uint64_t mark;
};

static char room[64 << 20];
static size_t used;
static const uint64_t mark = 0x6f776e206d616c6c;
static unsigned foreign;

void *
malloc(size_t size)
{
    struct head *head = (struct head *)(room + used);
    used += (size + sizeof *head + 15) & ~(size_t)15;
    if (used > sizeof room) {
        return NULL;
    }
    head->size = size;
    head->mark = mark;
    return head + 1;
}

void
free(void *object)
{
    if (object != NULL && ((struct head *)object)[-1].mark != mark) {
        foreign++;
    }
}

void *
calloc(size_t count, size_t size)
{
    void *object = malloc(count * size);
    return object != NULL ? memset(object, 0, count * size) : NULL;
}

void *
realloc(void *object, size_t size)
{
    void *next = malloc(size);
    if (object != NULL && next != NULL) {
        size_t before = ((struct head *)object)[-1].size;
        memcpy(next, object, before < size ? before : size);
    }
    return next;
}

int
main(void)
{
    char *line = NULL, *text = NULL;
    size_t length = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (getline(&line, &length, file) > 0) {
    }
    fclose(file);
    free(line);
    FIELD_EXPECT(asprintf(&text, "%d words", 12) > 0, "asprintf works");
    text = reallocarray(text, 10, 100);
    FIELD_EXPECT(text != NULL && strcmp(text, "12 words") == 0, "reallocarray takes what the program's malloc gave");
    free(text);
    text = strndup("a text", 3);
    text = reallocarray(text, 1000, 10);
    FIELD_EXPECT(text != NULL && strcmp(text, "a t") == 0, "and once more");
    free(text);
    volatile size_t half = SIZE_MAX / 2; /* a compiler that sees it warns */
    errno = 0;
    FIELD_EXPECT(reallocarray(NULL, half, 3) == NULL && errno == ENOMEM, "reallocarray knows what is too much");
    FIELD_EXPECT(foreign == 0, "the program's free gets its own objects only");
    return 0;
}
