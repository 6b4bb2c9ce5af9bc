/* SPDX-License-Identifier: MIT */
/*
 * map_limit: a program at the system's limit of mappings (vm.max_map_count), with retain:false and no decay: what munmap refuses
 * serves the next request, and goes when it can.
 *
 * 77: the limit is too high to come near it.
 */
#include "under_test.h"

#include <sys/mman.h>

enum { SKIPPED = 77, LIMIT_MOST = 300000, SPARE = 300, OBJECTS = 4000, SIZE = 20000, PAGE = 4096 };

static void *objects[OBJECTS];

static long
limit_of_mappings(void)
{
    char text[32] = "";
    int file = open("/proc/sys/vm/max_map_count", O_RDONLY);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    close(file);
    return length <= 0 ? 0 : atol(text);
}

static long
mappings(void)
{
    static char text[1 << 16];
    long lines = 0;
    ssize_t length;
    int file = open("/proc/self/maps", O_RDONLY);
    while ((length = read(file, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < length; i++)
            lines += text[i] == '\n';
    close(file);
    return lines;
}

/* Pages of which every other one can be read: each is a mapping. */
static bool
use_up_mappings(long all_but)
{
    size_t pages = (size_t)(limit_of_mappings() - mappings() - all_but);
    char *start = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool done = start != MAP_FAILED;
    for (size_t page = 1; done && page < pages; page += 2)
        done = mprotect(start + page * PAGE, PAGE, PROT_READ) == 0;
    return done;
}

static size_t
take_all(void)
{
    size_t count = 0;
    for (size_t i = 0; i < OBJECTS; i++) {
        if (objects[i] == NULL)
            objects[i] = malloc(SIZE);
        if (objects[i] != NULL)
            memset(objects[i], 1, SIZE);
        count += objects[i] != NULL;
    }
    return count;
}

static void
free_each(size_t from, size_t step)
{
    for (size_t i = from; i < OBJECTS; i += step) {
        free(objects[i]);
        objects[i] = NULL;
    }
}

int
main(void)
{
    long limit = limit_of_mappings();
    free(malloc(SIZE));
    if (limit == 0 || limit > LIMIT_MOST || !use_up_mappings(SPARE))
        return SKIPPED;
    long before = mappings();
    size_t first = take_all();
    free_each(0, 2);
    long most = mappings();
    size_t again = take_all();
    free_each(0, 1);
    long after = mappings();
    size_t second = take_all();
    bool right =
        most >= limit - 1 && first == OBJECTS && again == OBJECTS && second == OBJECTS && after < before + SPARE / 2;
    printf("%s - all that is freed at the limit of mappings can be had again (%zu, %zu, %zu of %d; mappings %ld, %ld, "
           "%ld of %ld)\n",
           right ? "ok" : "not ok", first, again, second, OBJECTS, before, most, after, limit);
    return !right;
}
