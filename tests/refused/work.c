/* SPDX-License-Identifier: MIT */
/*
 * work: threads that allocate, resize, exchange and free objects, fork, and trim, and that go on when they are given no memory.
 *
 *     work SEED THREADS OPERATIONS
 *
 * Promises  0, and one line with counts, when every object held what was written to it and no child ended badly; abort() with a
 *           line on stderr otherwise.  The same seed makes the same requests; threads share what they exchange.
 * Not here  refusing: refuse.c, which runs this.
 */
#include "users/jemalloc_calls.h"

#include "fakes/random.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OBJECTS = 400,
    SHARED = 64,
    THREADS_MOST = 8,
    ROUNDS = 2,
    STACK = 256 << 10,
    EDGE = 1024,
    STEP = 509,
    GROWN_MOST = 6 << 20
};

struct object {
    unsigned char *bytes;
    size_t size;
    unsigned char mark;
};

static struct object shared[SHARED];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(4096) char stacks[THREADS_MOST][STACK]; /* libc needs no memory for a thread */
static uint64_t seed;
static unsigned long operations;
static _Atomic unsigned long refused, threads_refused;

static _Noreturn void
fail(const char *what, const struct object *object, size_t at)
{
    dprintf(2, "work: %s: %p, byte %zu of %zu, mark %u, found %u\n", what, (void *)object->bytes, at, object->size,
            object->mark, object->bytes[at]);
    abort();
}

/* The next byte that is looked at: all of both ends, some between. */
static size_t
next_place(size_t at, size_t size)
{
    return at < EDGE || at + EDGE >= size || at + STEP >= size ? at + 1 : at + STEP;
}

static void
fill(struct object *object, unsigned char mark)
{
    object->mark = mark;
    for (size_t at = 0; at < object->size; at = next_place(at, object->size)) {
        object->bytes[at] = mark;
    }
}

static void
expect(const char *what, const struct object *object, size_t kept, unsigned char mark)
{
    for (size_t at = 0; at < kept; at = next_place(at, object->size)) {
        if (object->bytes[at] != mark) {
            fail(what, object, at);
        }
    }
}

static void
check(const struct object *object)
{
    if (object->bytes != NULL) {
        expect("not what was written", object, object->size, object->mark);
    }
}

static size_t
some_size(uint64_t *dice)
{
    static const size_t most[16] = {4000000, 1000000, 300000, 300000, 60000, 20000, 20000, 14336,
                                    4096,    2048,    600,    600,    600,   600,   100,   32};
    return 1 + random_below(dice, most[random_below(dice, 16)]);
}

static void
drop(struct object *object)
{
    check(object);
    free(object->bytes);
    object->bytes = NULL;
}

static void *
take_aligned(uint64_t *dice, size_t size)
{
    void *bytes = NULL;
    size_t alignment = (size_t)16 << random_below(dice, 14);
    if (posix_memalign(&bytes, alignment, size) != 0) {
        return NULL;
    }
    if (((uintptr_t)bytes & (alignment - 1)) != 0) {
        fail("not aligned", &(struct object){bytes, size, 0}, 0);
    }
    return bytes;
}

static void
take(struct object *object, uint64_t *dice)
{
    unsigned way = (unsigned)random_below(dice, 8);
    object->size = some_size(dice);
    object->bytes = way == 0   ? calloc(1, object->size)
                    : way == 1 ? take_aligned(dice, object->size)
                               : malloc(object->size);
    if (object->bytes == NULL) {
        refused++;
        return;
    }
    if (way == 0) {
        expect("calloc, not zero", object, object->size, 0);
    }
    fill(object, (unsigned char)random_below(dice, 256));
}

static void
resize(struct object *object, uint64_t *dice)
{
    struct object before = *object;
    bool grows = before.size < GROWN_MOST && random_below(dice, 3) == 0;
    object->size = grows ? before.size + before.size / 2 : some_size(dice);
    check(&before);
    object->bytes = realloc(before.bytes, object->size);
    if (object->bytes == NULL) {
        refused++;
        *object = before;
        check(object);
        return;
    }
    before.bytes = object->bytes;
    expect("lost by realloc", &before, before.size < object->size ? before.size : object->size, object->mark);
    fill(object, (unsigned char)random_below(dice, 256));
}

static void
exchange(struct object *object, uint64_t *dice)
{
    pthread_mutex_lock(&shared_lock);
    struct object *place = &shared[random_below(dice, SHARED)], other = *place;
    *place = *object;
    *object = other;
    pthread_mutex_unlock(&shared_lock);
    check(object);
}

/* The child looks at what it inherited, frees it, and works a little. */
static void
fork_child(struct object *objects, uint64_t *dice)
{
    pid_t child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < OBJECTS; i++) {
            drop(&objects[i]);
        }
        for (unsigned i = 0; i < 200; i++) {
            struct object *object = &objects[random_below(dice, OBJECTS)];
            drop(object);
            take(object, dice);
        }
        _exit(0);
    }
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && status != 0) {
        dprintf(2, "work: a child ended with status %#x\n", (unsigned)status);
        abort();
    }
}

/* An arena of its own, with an object in it, that goes again; a setting that moves. */
static void
control(uint64_t *dice)
{
    static const char *const names[] = {"arena.%zu.purge", "arena.%zu.decay", "arena.%zu.reset", "arena.%zu.destroy"};
    unsigned arena = mallctl == NULL ? UINT32_MAX : ctl_new_arena();
    if (arena != UINT32_MAX) {
        struct object object = {NULL, some_size(dice), 0};
        object.bytes = mallocx(object.size, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
        if (object.bytes != NULL) {
            fill(&object, 7);
            check(&object);
        }
        ctl_do(ctl_name(names[random_below(dice, 2)], arena));
        ctl_do(ctl_name(names[2 + random_below(dice, 2)], arena));
    }
    malloc_trim(0);
}

static void
operate(struct object *objects, uint64_t *dice)
{
    struct object *object = &objects[random_below(dice, OBJECTS)];
    unsigned kind = (unsigned)random_below(dice, 1000);
    if (kind < 2) {
        control(dice);
    } else if (kind == 2) {
        fork_child(objects, dice);
    } else if (kind < 400) {
        drop(object);
    } else if (kind < 500) {
        exchange(object, dice);
    } else if (kind < 700 && object->bytes != NULL) {
        resize(object, dice);
    } else {
        drop(object);
        take(object, dice);
    }
}

static void *
work(void *number)
{
    uint64_t dice = seed * 1000003 + (uintptr_t)number;
    struct object *objects = calloc(OBJECTS, sizeof *objects);
    for (unsigned long i = 0; objects != NULL && i < operations; i++) {
        operate(objects, &dice);
    }
    for (unsigned i = 0; objects != NULL && i < OBJECTS; i++) {
        drop(&objects[i]);
    }
    free(objects);
    return NULL;
}

static void
run_threads(unsigned threads, uintptr_t first)
{
    pthread_t others[THREADS_MOST];
    bool made[THREADS_MOST] = {false};
    for (unsigned i = 0; i < threads; i++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stacks[i], STACK);
        made[i] = pthread_create(&others[i], &attributes, work, (void *)(first + 1 + i)) == 0;
        threads_refused += !made[i];
    }
    work((void *)first);
    for (unsigned i = 0; i < threads; i++) {
        if (made[i]) {
            pthread_join(others[i], NULL);
        }
    }
}

int
main(int argc, char **argv)
{
    if (argc != 4) {
        dprintf(2, "usage: work SEED THREADS OPERATIONS\n");
        return 2;
    }
    unsigned threads = (unsigned)strtoul(argv[2], NULL, 0);
    seed = strtoull(argv[1], NULL, 0);
    operations = strtoul(argv[3], NULL, 0);
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        run_threads(threads < THREADS_MOST ? threads : THREADS_MOST, 100 * round);
    }
    for (unsigned i = 0; i < SHARED; i++) {
        drop(&shared[i]);
    }
    malloc_trim(0);
    dprintf(1, "work: %lu requests and %lu threads refused\n", refused, threads_refused);
    return 0;
}
