// What a program left behind, by who still points to it at the end. It prints its own counts: function, objects, bytes.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct link {
    struct link *next;
    char room[100];
};

struct link *global;
char *inside;
_Thread_local struct link *of_thread;
static int ready[2];

NOINLINE void
by_global(void)
{
    for (int i = 0; i < 50; i++) { // a chain: all but the first only by the one before
        struct link *link = malloc(sizeof(*link));
        link->next = global;
        global = link;
    }
}

NOINLINE void
by_inner_pointer(void)
{
    inside = (char *)malloc(300) + 200;
}

NOINLINE void
by_thread_data(void)
{
    of_thread = malloc(sizeof(*of_thread));
    of_thread->next = NULL;
}

NOINLINE void
by_mapping(void)
{
    struct link *volatile *mapped = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[100] = malloc(sizeof(struct link));
    mapped[100]->next = NULL;
}

NOINLINE static void *
by_stack(void *argument)
{
    struct link *volatile link = malloc(sizeof(*link));
    link->next = NULL;
    if (write(ready[1], "", 1) == 1) {
        pause();
    }
    return link == NULL ? argument : link->next;
}

NOINLINE void
large_by_global(void)
{
    struct link *large = malloc(1 << 20); // has a mapping of its own, which borders on others
    large->next = global;
    global = large;
}

NOINLINE void
lost_small(void)
{
    for (int i = 0; i < 1000; i++) {
        memset(malloc(1000), 1, 1000);
    }
}

NOINLINE void
lost_ring(void)
{
    struct link *one = malloc(sizeof(*one)), *other = malloc(sizeof(*other)); // each has the other
    one->next = other;
    other->next = one;
}

NOINLINE void
lost_large(void)
{
    for (int i = 0; i < 3; i++) {
        memset(malloc(1 << 20), 1, 1 << 20);
    }
}

NOINLINE void
freed(void)
{
    for (int i = 0; i < 10000; i++) {
        void **object = malloc(10 + (size_t)(i % 60));
        memcpy(object, &object, sizeof(object));
        free(object);
    }
}

NOINLINE int // clears what the calls before have left below
clear(void)
{
    volatile char room[1 << 16];

    memset((char *)room, 0, sizeof(room));
    return room[100];
}

int
main(int argc, char **argv)
{
    static char text[1024]; // dprintf allocates
    pthread_t thread;
    char byte;

    by_global();
    by_inner_pointer();
    by_thread_data();
    by_mapping();
    lost_small();
    lost_ring();
    large_by_global();
    lost_large();
    freed();
    if (argc > 1 && (pipe(ready) != 0 || pthread_create(&thread, NULL, by_stack, argv) != 0 || read(ready[0], &byte, 1) != 1)) {
        return 1;
    }
    snprintf(text, sizeof(text),
             "{\"reachable\": {\"by_global\": [50, %zu], \"by_inner_pointer\": [1, 300], \"by_thread_data\": [1, %zu], "
             "\"by_mapping\": [1, %zu], \"large_by_global\": [1, %d]%s}, "
             "\"lost\": {\"lost_small\": [1000, 1000000], \"lost_ring\": [2, %zu], \"lost_large\": [3, %d]}}\n",
             50 * sizeof(struct link), sizeof(struct link), sizeof(struct link), 1 << 20,
             argc > 1 ? ", \"by_stack\": [1, 112]" : "", 2 * sizeof(struct link), 3 << 20);
    return clear() + (write(STDOUT_FILENO, text, strlen(text)) != (ssize_t)strlen(text));
}
