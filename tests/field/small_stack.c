/* SPDX-License-Identifier: MIT */
/* small_stack [BYTES]: how much stack malloc, realloc and free take at most, first calls and slow paths included.  Threads and
 * coroutines with stacks of 16 KiB call them; with BYTES more fails. */
#include "field.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 256 << 10, OBJECTS = 3000 };

static ucontext_t outside, inside;
static unsigned seed = 1;

static void
work(void)
{
    static __thread char *objects[OBJECTS];
    for (int i = 0; i < 12 * OBJECTS; i++) {
        seed = seed * 1103515245 + 12345;
        int at = (int)(seed >> 8) % OBJECTS;
        size_t size = (seed >> 4) % 7 == 0 ? (seed >> 3) % 400000 : (seed >> 3) % 3000;
        if (i % 5 == 0) {
            objects[at] = realloc(objects[at], size + 1);
        } else if (i % 17 == 0) {
            free(objects[at]);
            objects[at] = aligned_alloc(64, (size + 64) & ~(size_t)63);
        } else {
            free(objects[at]);
            objects[at] = i % 3 == 0 ? calloc(1, size + 1) : malloc(size + 1);
        }
        objects[at][0] = 1;
    }
    for (int i = 0; i < OBJECTS; i++) {
        free(objects[i]);
        objects[i] = NULL;
    }
    malloc_trim(0);
}

static void
coroutine(void)
{
    work();
    swapcontext(&inside, &outside);
}

static void *
on_a_small_stack(void *stack)
{
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = NULL;
    makecontext(&inside, coroutine, 0);
    swapcontext(&outside, &inside);
    return NULL;
}

int
main(int count, char **words)
{
    size_t most = count == 2 ? strtoul(words[1], NULL, 10) : STACK;
    pthread_t thread;
    unsigned char *stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memset(stack, 0xa5, STACK);
    pthread_create(&thread, NULL, on_a_small_stack,
                   stack); /* a new thread: its first calls are on the small stack, too */
    pthread_join(thread, NULL);
    size_t unused = 0;
    while (unused < STACK && stack[unused] == 0xa5) {
        unused++;
    }
    printf("%zu bytes of stack\n", STACK - unused);
    FIELD_EXPECT(STACK - unused <= most, "little stack is used");
    return 0;
}
