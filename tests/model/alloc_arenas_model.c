/* SPDX-License-Identifier: MIT */
/*
 * alloc_arenas: threads that make arenas with and without hooks, allocate from them, bind themselves to them, reset and
 * destroy them, and share two that stay, while another thread purges whatever there is.  Hooks refuse now and then, and
 * allocate themselves.  What is in the objects is checked, and the hooks' books must agree in the end.
 *
 * By hand:  HEW_MODEL_SEED=7 HEW_MODEL_STEPS=1000000 model_alloc_arenas
 */
#include "alloc/flags.h"
#include "cache/magazine.h"
#include "layers_alloc.h"
#include "os/clock.h"
#include "slab/arena_life.h"
#include "test.h"

#include "fakes/hooks.h"
#include "fakes/random.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 3
#define SLOTS 60
#define SHARED 32
#define NO_CACHE 0x100

struct object {
    unsigned char *address; /* NULL: the slot is free */
    size_t size;
    unsigned char content;
};

struct worker {
    uint64_t random, steps;
    int arena; /* the thread's own, -1: none */
    bool bound;
    struct object own[SLOTS];    /* of that arena */
    struct object others[SLOTS]; /* of the shared arenas */
};

static struct worker workers[THREADS];
static int shared_arenas[2];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object shared[SHARED]; /* guarded by shared_lock: on their way from thread to thread */
static struct hew_extent_hooks default_copy;
static atomic_uint wrong, made, refused;
static atomic_bool over;

static void
expect(bool condition, const char *what)
{
    if (!condition && atomic_fetch_add(&wrong, 1) < 10) {
        printf("not true: %s\n", what);
    }
}

static uint64_t
parameter(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text == NULL ? usual : strtoull(text, NULL, 0);
}

static int
flags_of(int arena)
{
    return (arena + 1) << 20 | NO_CACHE;
}

static size_t
random_size(uint64_t *random)
{
    return random_next(random) >> (43 + random_below(random, 21)) | 1; /* up to 2 MiB, each magnitude as likely */
}

/* The first bytes, the last one, and one of each page. */
static void
write_object(const struct object *object)
{
    for (size_t i = 0; i < object->size; i += i < 64 ? 1 : HEW_PAGE) {
        object->address[i] = (unsigned char)(object->content + i / HEW_PAGE);
    }
    object->address[object->size - 1] = object->content;
}

static void
check_object(const struct object *object, size_t size)
{
    bool right = size < object->size || object->address[size - 1] == object->content;
    for (size_t i = 0; right && i < size - (size == object->size); i += i < 64 ? 1 : HEW_PAGE) {
        right = object->address[i] == (unsigned char)(object->content + i / HEW_PAGE) || i == object->size - 1;
    }
    expect(right, "the object holds what was written");
}

static void
make_object(struct worker *worker, struct object *object, int arena)
{
    bool zero = random_below(&worker->random, 4) == 0;
    object->size = random_size(&worker->random);
    object->content = (unsigned char)random_next(&worker->random);
    int flags = arena < 0 ? 0 : flags_of(arena);
    object->address = hew_flags_alloc(object->size, flags | (zero ? HEW_FLAGS_ZERO : 0));
    if (object->address == NULL) {
        refused++;
        return;
    }
    made++;
    if (zero) {
        expect(object->address[0] == 0 && memcmp(object->address, object->address + 1, object->size - 1) == 0,
               "what was asked for as zeros is zero");
    }
    write_object(object);
}

static void
free_object(struct worker *worker, struct object *object)
{
    check_object(object, object->size);
    if (random_below(&worker->random, 2) == 0) {
        layers_free(object->address);
    } else {
        hew_flags_free("dallocx", object->address, NO_CACHE);
    }
    object->address = NULL;
}

static void
resize_object(struct worker *worker, struct object *object, int arena)
{
    size_t size = random_size(&worker->random);
    unsigned char *moved = hew_flags_realloc(object->address, size, arena < 0 ? 0 : flags_of(arena));
    if (moved == NULL) {
        refused++;
        return;
    }
    object->address = moved;
    if (size < object->size) {
        check_object(object, size);
    }
    object->size = size;
    write_object(object);
}

static void
use_object(struct worker *worker, struct object *object, int arena)
{
    if (object->address == NULL) {
        make_object(worker, object, arena);
    } else if (random_below(&worker->random, 4) == 0) {
        resize_object(worker, object, arena);
    } else {
        free_object(worker, object);
    }
}

static void
bind_to(struct worker *worker, unsigned arena)
{
    hew_magazine_send_all_home(hew_alloc_own_cache());
    expect(hew_thread_bind(hew_alloc_own_cache(), hew_arena_find(arena)), "a living arena can be bound to");
    worker->bound = arena != 0;
}

/* All objects of the thread's own arena go, in one of three ways. */
static void
end_arena(struct worker *worker)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (worker->own[i].address != NULL) {
            check_object(&worker->own[i], worker->own[i].size);
            worker->own[i].address = NULL;
        }
    }
    if (worker->bound && random_below(&worker->random, 2) == 0) {
        expect(!hew_arena_destroy((unsigned)worker->arena, NULL), "an arena that a thread is bound to stays");
    }
    bind_to(worker, 0);
    unsigned arena = (unsigned)worker->arena;
    if (random_below(&worker->random, 3) == 0) {
        expect(hew_arena_reset(arena, NULL), "an arena can be reset");
        expect(hew_page_counts(hew_arena_find(arena)->pages.heap).active == 0, "nothing is left in it");
        return;
    }
    expect(hew_arena_destroy(arena, NULL), "an arena can be destroyed");
    worker->arena = -1;
}

static void
begin_arena(struct worker *worker)
{
    static struct hew_extent_hooks *const tables[] = {NULL, &hooks_table, &hooks_table, &default_copy};
    worker->arena = hew_arena_create(tables[random_below(&worker->random, 4)]);
    expect(worker->arena >= 0, "an arena can be made");
}

static void
swap_with_others(struct worker *worker, struct object *object)
{
    struct object *place = &shared[random_below(&worker->random, SHARED)];
    pthread_mutex_lock(&shared_lock);
    struct object mine = *object;
    *object = *place;
    *place = mine;
    pthread_mutex_unlock(&shared_lock);
}

static void
operate(struct worker *worker)
{
    uint64_t what = random_below(&worker->random, 1000);
    struct object *other = &worker->others[random_below(&worker->random, SLOTS)];
    if (worker->arena < 0) {
        begin_arena(worker);
    } else if (what < 4) {
        end_arena(worker);
    } else if (what < 8 && !worker->bound) {
        bind_to(worker, (unsigned)worker->arena);
    } else if (what < 500) {
        int arena = worker->bound && what % 2 == 0 ? -1 : worker->arena;
        use_object(worker, &worker->own[random_below(&worker->random, SLOTS)], arena);
    } else if (what < 700) {
        swap_with_others(worker, other);
    } else {
        use_object(worker, other, shared_arenas[what % 2]);
    }
}

static void *
work(void *argument)
{
    struct worker *worker = argument;
    worker->arena = -1;
    layers_free(layers_malloc(1));
    for (uint64_t step = 0; step < worker->steps; step++) {
        operate(worker);
    }
    while (worker->arena >= 0) {
        end_arena(worker);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        if (worker->others[i].address != NULL) {
            free_object(worker, &worker->others[i]);
        }
    }
    hew_thread_death();
    return NULL;
}

static void *
purge(void *argument)
{
    uint64_t random = *(uint64_t *)argument;
    while (!over) {
        HEW_EACH_ARENA(arena)
        {
            hew_page_decay(arena->pages.heap, hew_clock_ms() + random_below(&random, 20000),
                           random_below(&random, 8) == 0);
            hew_page_next_ms(arena->pages.heap);
            hew_page_counts(arena->pages.heap);
        }
        hew_arenas_count();
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    hew_thread_death();
    return NULL;
}

/* Inside each hook: what it allocates is whole, and comes from an arena without hooks. */
static void
allocate_inside(void)
{
    static _Thread_local unsigned count;
    size_t size = (size_t)16 << (++count % 12);
    unsigned char *object = layers_malloc(size);
    if (object != NULL) {
        memset(object, 0x77, size);
        struct hew_extent *extent = hew_map_extent((uintptr_t)object);
        expect(hew_arena_at(extent->arena)->pages.heap->hooks == NULL, "memory inside a hook comes without hooks");
        layers_free(object);
    }
}

static void
run(uint64_t steps, const char *refuse, unsigned odds)
{
    static uint64_t runs;
    pthread_t threads[THREADS], purger;
    uint64_t seed = parameter("HEW_MODEL_SEED", 1) * 1000 + runs++;
    hooks_refuse = refuse;
    hooks_odds = odds;
    over = false;
    shared_arenas[0] = hew_arena_create(&hooks_table);
    shared_arenas[1] = hew_arena_create(NULL);
    pthread_create(&purger, NULL, purge, &seed);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].random = seed * THREADS + i;
        workers[i].steps = steps;
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    over = true;
    pthread_join(purger, NULL);
    for (unsigned i = 0; i < SHARED; i++) {
        if (shared[i].address != NULL) {
            free_object(&workers[0], &shared[i]);
        }
    }
    CHECK(layers_settled());
    CHECK(hew_arena_destroy((unsigned)shared_arenas[0], NULL) && hew_arena_destroy((unsigned)shared_arenas[1], NULL));
    CHECK_EQUAL(hooks_count, 0);
    CHECK_EQUAL(hooks_wrong, 0);
    CHECK_EQUAL(wrong, 0);
}

TEST(arenas_come_and_go_under_threads)
{
    CHECK(layers_boot());
    hew_options.narenas = 2;
    hew_options.dirty_decay_ms = 50;
    hew_options.muzzy_decay_ms = 20;
    default_copy = hew_hooks_default;
    CHECK(hew_arena_get(0) != NULL);
    hooks_begin();
    hooks_inside = allocate_inside;
    hooks_commit_late = true;
    run(parameter("HEW_MODEL_STEPS", 9000) / 3, "", 1);
}

TEST(hooks_that_refuse_now_and_then_break_nothing)
{
    hooks_zero = true;
    run(parameter("HEW_MODEL_STEPS", 9000) / 3, "split,merge,dalloc,decommit,lazy,forced,!commit,alloc", 3);
}

TEST(hooks_that_refuse_all_but_alloc_break_nothing)
{
    run(parameter("HEW_MODEL_STEPS", 9000) / 3, "split,merge,dalloc,decommit,lazy,forced", 1);
    CHECK(made > 1000);
    printf("%u objects, %u refused\n", made, refused);
}
