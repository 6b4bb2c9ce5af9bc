/* SPDX-License-Identifier: MIT */
/*
 * misuse_table: one misuse for each run, under whatever malloc is preloaded; scripts/gen_pages.py makes docs/misuse.md of it.
 *
 *     misuse_table           the names of the misuses
 *     misuse_table NAME      does it, then allocates and frees objects of the size; prints what came of it
 *
 * An attack prints "found: " and what it has got instead.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE ((size_t)300000)
#define HUGE ((size_t)64 << 20)
#define TRAFFIC 2000

static void *volatile unseen;

/* Where the compiler may not see through. */
static void *
opaque(void *pointer)
{
    unseen = pointer;
    return unseen;
}

static char *
take(size_t size)
{
    char *object = opaque(malloc(size));
    memset(object, 'm', size);
    return object;
}

static void
give(void *object)
{
    free(opaque(object));
}

static void
twice(size_t size)
{
    char *object = take(size);
    give(object);
    give(object);
}

static void
twice_with_one_between(size_t size)
{
    char *object = take(size), *other = take(size);
    give(object);
    give(other);
    give(object);
}

static void *
give_in_thread(void *object)
{
    give(object);
    return NULL;
}

static void
twice_in_two_threads(size_t size)
{
    pthread_t thread;
    char *object = take(size);
    pthread_create(&thread, NULL, give_in_thread, object);
    pthread_join(thread, NULL);
    give(object);
}

static void
after_realloc(size_t size)
{
    char *object = take(size);
    unseen = realloc(opaque(object), size * 4);
    give(object);
}

static void
inside_by_16(size_t size)
{
    give(take(size) + 16);
}

static void
inside_by_a_page(size_t size)
{
    give(take(size) + 4096);
}

static void
of_the_stack(size_t size)
{
    char local[256] __attribute__((aligned(64))) = "";
    unseen = take(size);
    give(local + 64);
}

static void
of_static_data(size_t size)
{
    static char data[256] __attribute__((aligned(64)));
    unseen = take(size);
    give(data + 64);
}

static void
realloc_of_freed(size_t size)
{
    char *object = take(size);
    give(object);
    unseen = realloc(opaque(object), size - 1);
}

static void
realloc_of_freed_to_more(size_t size)
{
    char *object = take(size);
    give(object);
    unseen = realloc(opaque(object), size * 3);
}

static void
size_of_freed(size_t size)
{
    char *object = take(size);
    give(object);
    malloc_usable_size(opaque(object));
}

static void
write_beyond(size_t size, size_t bytes)
{
    char *object = take(size), *others[TRAFFIC]; /* so that the memory behind it is in use */
    for (unsigned i = 0; i < TRAFFIC / 2; i++) {
        others[i] = take(size);
    }
    memset((char *)opaque(object) + size, 'o', bytes);
    give(object);
    for (unsigned i = 0; i < TRAFFIC / 2; i++) {
        give(others[i]);
    }
}

static void
a_byte_beyond(size_t size)
{
    write_beyond(size, 1);
}

static void
bytes_beyond(size_t size)
{
    write_beyond(size, 16);
}

static void
a_page_beyond(size_t size)
{
    write_beyond(size, 4096);
}

/* Within 1,000 allocations of the class. */
static void
written_after_free(size_t size, size_t at)
{
    char *object = take(size);
    give(object);
    memset((char *)opaque(object) + at, 'u', 1);
    for (unsigned i = 0; i < 1000; i++) {
        give(take(size));
    }
    puts("passed");
    fflush(stdout);
    for (unsigned i = 0; i < 20000; i++) {
        give(take(size));
    }
}

static void
first_byte_after_free(size_t size)
{
    written_after_free(size, 0);
}

static void
last_byte_after_free(size_t size)
{
    written_after_free(size, size - 1);
}

static void
bytes_before(size_t size)
{
    char *others[16], *object = NULL;
    for (unsigned i = 0; i < 16; i++) {
        others[i] = take(size);
        object = i == 8 ? others[i] : object;
    }
    memset((char *)opaque(object) - 16, 'o', 16);
    for (unsigned i = 0; i < 16; i++) {
        give(others[i]);
    }
}

/* The program reads what it freed: an attack learns a secret, a mistake goes on with old data. */
static void
read_after_free(size_t size)
{
    char *object = take(size);
    memset(opaque(object), 's', size);
    give(object);
    puts(((char *)opaque(object))[size / 2] == 's' ? "found: old contents" : "found: other contents");
}

/* What an attack needs that fills a freed object with data of its own: the place comes again at once, or soon. */
static void
same_place(size_t size)
{
    char *object = take(size);
    give(object);
    for (unsigned i = 0; i < 256; i++) {
        char *other = take(size);
        if (other == object) {
            puts(i == 0 ? "found: by the next request" : "found: within 256 requests");
            return;
        }
        give(other);
    }
    puts("found: not within 256 requests");
}

/* What an attack needs that writes beyond one object into another: where the next one lies. */
static void
distance_to_next(size_t size)
{
    enum { PAIRS = 2000, SPAN = 1 << 16 };
    static bool seen[SPAN];
    unsigned distances = 0, bits = 0;
    uintptr_t before = (uintptr_t)malloc(size);
    for (unsigned i = 0; i < PAIRS; i++) {
        uintptr_t now = (uintptr_t)malloc(size);
        size_t distance = (now - before) / 8 % SPAN;
        distances += !seen[distance];
        seen[distance] = true;
        before = now;
    }
    while (distances >> (bits + 1) != 0) {
        bits++;
    }
    printf("found: one of 2^%u or more\n", bits);
}

/* An overwritten list of free objects hands out memory of the attack's choice. */
static void
free_list_overwritten(size_t size)
{
    static char chosen[4096] __attribute__((aligned(4096)));
    char *objects[8];
    for (unsigned i = 0; i < 8; i++) {
        objects[i] = take(size);
    }
    for (unsigned i = 0; i < 8; i++) {
        give(objects[i]);
    }
    for (unsigned i = 0; i < 8; i++) {
        char **link = opaque(objects[i]);
        link[0] = link[1] = chosen + 1024;
    }
    for (unsigned i = 0; i < 1000; i++) {
        char *object = opaque(malloc(size));
        if (object >= chosen && object < chosen + sizeof chosen) {
            puts("found: memory of its choice");
            return;
        }
    }
    puts("passed");
    fflush(stdout);
    for (unsigned i = 0; i < 20000; i++) {
        give(take(size));
    }
}

static const struct {
    const char *name;
    void (*run)(size_t size);
    size_t size;
} cases[] = {
    {"free twice, 64 bytes", twice, 64},
    {"free twice, 300,000 bytes", twice, LARGE},
    {"free twice, 64 MiB", twice, HUGE},
    {"free twice, another between, 64 bytes", twice_with_one_between, 64},
    {"free twice, another between, 20,000 bytes", twice_with_one_between, 20000},
    {"free twice, another between, 300,000 bytes", twice_with_one_between, LARGE},
    {"free in another thread, then here, 64 bytes", twice_in_two_threads, 64},
    {"free in another thread, then here, 300,000 bytes", twice_in_two_threads, LARGE},
    {"free of the old place after realloc, 64 bytes", after_realloc, 64},
    {"free 16 bytes inside, 64 bytes", inside_by_16, 64},
    {"free 16 bytes inside, 300,000 bytes", inside_by_16, LARGE},
    {"free a page inside, 20,000 bytes", inside_by_a_page, 20000},
    {"free a page inside, 64 MiB", inside_by_a_page, HUGE},
    {"free of the stack", of_the_stack, 64},
    {"free of static data", of_static_data, 64},
    {"realloc of what is free, in place, 64 bytes", realloc_of_freed, 64},
    {"realloc of what is free, in place, 300,000 bytes", realloc_of_freed, LARGE},
    {"realloc of what is free, to more, 64 bytes", realloc_of_freed_to_more, 64},
    {"realloc of what is free, to more, 300,000 bytes", realloc_of_freed_to_more, LARGE},
    {"malloc_usable_size of what is free, 64 bytes", size_of_freed, 64},
    {"write a byte beyond, 60 bytes", a_byte_beyond, 60},
    {"write a byte beyond, 64 bytes", a_byte_beyond, 64},
    {"write 16 bytes beyond, 64 bytes", bytes_beyond, 64},
    {"write a page beyond, 64 bytes", a_page_beyond, 64},
    {"write a page beyond, 300,000 bytes", a_page_beyond, LARGE},
    {"write 16 bytes before, 64 bytes", bytes_before, 64},
    {"write to the first byte after free, 64 bytes", first_byte_after_free, 64},
    {"write to the last byte after free, 64 bytes", last_byte_after_free, 64},
    {"write to the first byte after free, 300,000 bytes", first_byte_after_free, LARGE},
    {"read after free, 64 bytes", read_after_free, 64},
    {"read after free, 300,000 bytes", read_after_free, LARGE},
    {"overwrite links of free objects, 64 bytes", free_list_overwritten, 64},
    {"get the place of a freed object, 64 bytes", same_place, 64},
    {"get the place of a freed object, 300,000 bytes", same_place, LARGE},
    {"foretell the distance of two objects, 64 bytes", distance_to_next, 64},
    {"foretell the distance of two objects, 1,000 bytes", distance_to_next, 1000},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static int
by_address(const void *left, const void *right)
{
    uintptr_t first = (uintptr_t)*(void *const *)left, second = (uintptr_t)*(void *const *)right;
    return first < second ? -1 : first > second;
}

/* Says whether two of many objects share memory; then all are freed. */
static void
tell_overlap(size_t size)
{
    static void *objects[TRAFFIC];
    unsigned count = size > ((size_t)1 << 20) ? 8 : TRAFFIC;
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        objects[i] = malloc(size);
    }
    qsort(objects, count, sizeof *objects, by_address);
    for (unsigned i = 1; i < count; i++) {
        found |= (uintptr_t)objects[i] - (uintptr_t)objects[i - 1] < size;
    }
    puts(found ? "overlap" : "apart");
    fflush(stdout);
    for (unsigned i = 0; i < count; i++) {
        give(objects[i]);
    }
}

int
main(int count, char **arguments)
{
    for (unsigned i = 0; i < CASES; i++) {
        if (count < 2) {
            puts(cases[i].name);
        } else if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run(cases[i].size);
            puts("passed");
            fflush(stdout);
            tell_overlap(cases[i].size);
            _exit(0);
        }
    }
    return count > 1;
}
