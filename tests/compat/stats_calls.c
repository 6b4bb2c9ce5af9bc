/* SPDX-License-Identifier: MIT */
/*
 * stats_calls: statistics as programs written for jemalloc ask for them: malloc_stats_print with a function of their own,
 * malloc_message, epoch and the stats names of mallctl, by name and by MIB, while threads work.
 */
#include "test.h"
#include "under_test.h"

#include <limits.h>
#include <pthread.h>

typedef void (*write_function)(void *context, const char *piece);

static void (*print)(write_function write, void *context, const char *letters);
static int (*ctl)(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
static int (*to_mib)(const char *name, size_t *mib, size_t *depth);
static int (*by_mib)(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length);
static write_function *message;

static char heard[1 << 20];
static size_t length;

static void
hear(void *context, const char *piece)
{
    size_t bytes = strlen(piece);
    if (length + bytes < sizeof heard) {
        memcpy(heard + length, piece, bytes + 1);
        length += bytes;
    }
    CHECK(context == heard);
}

static size_t
size_of(const char *name)
{
    size_t value = SIZE_MAX, bytes = sizeof value;
    CHECK_EQUAL(ctl(name, &value, &bytes, NULL, 0), 0);
    return value;
}

static uint64_t
refresh(void)
{
    uint64_t epoch = 1;
    size_t bytes = sizeof epoch;
    CHECK_EQUAL(ctl("epoch", &epoch, &bytes, &epoch, sizeof epoch), 0);
    return epoch;
}

TEST(the_functions_are_there)
{
    print = (void (*)(write_function, void *, const char *))dlsym(RTLD_DEFAULT, "malloc_stats_print");
    ctl = (int (*)(const char *, void *, size_t *, void *, size_t))dlsym(RTLD_DEFAULT, "mallctl");
    to_mib = (int (*)(const char *, size_t *, size_t *))dlsym(RTLD_DEFAULT, "mallctlnametomib");
    by_mib = (int (*)(const size_t *, size_t, void *, size_t *, void *, size_t))dlsym(RTLD_DEFAULT, "mallctlbymib");
    message = (write_function *)dlsym(RTLD_DEFAULT, "malloc_message");
    CHECK(print != NULL && ctl != NULL && to_mib != NULL && by_mib != NULL && message != NULL);
}

TEST(a_report_goes_to_the_callers_function)
{
    print(hear, heard, NULL);
    CHECK(strncmp(heard, "___ Begin jemalloc statistics ___\nVersion: \"5.3.1", 49) == 0);
    CHECK(strstr(heard, "\n  opt.stats_print_opts: \"\"\n") != NULL);
    CHECK(strstr(heard, "\nMaximum thread-cached size class: ") != NULL);
    CHECK(strstr(heard, "\nNumber of large size classes: 196\n") != NULL);
    CHECK_TEXT(heard + length - 32, "--- End jemalloc statistics ---\n");
}

TEST(without_a_function_it_goes_to_malloc_message)
{
    length = 0;
    *message = hear;
    print(NULL, heard, "Jgmdablxeh");
    *message = NULL;
    CHECK(strncmp(heard, "{\"jemalloc\":{\"stats\":{\"allocated\":", 34) == 0);
}

/* What a Rust program does: its string grows, and it may look at numbers meanwhile. */
static void
allocate_and_ask(void *context, const char *piece)
{
    void *grown = malloc(strlen(piece) + 100000);
    refresh();
    length += strlen(piece);
    free(grown);
}

TEST(the_callers_function_may_allocate_and_ask)
{
    length = 0;
    print(allocate_and_ask, NULL, "J");
    CHECK(length > 50000);
}

static void *
print_both(void *unused)
{
    print(allocate_and_ask, NULL, "J");
    print(allocate_and_ask, NULL, "");
    return unused;
}

TEST(a_report_fits_the_smallest_stack)
{
    pthread_attr_t smallest;
    pthread_t thread;
    length = 0;
    pthread_attr_init(&smallest);
    pthread_attr_setstacksize(&smallest, (size_t)PTHREAD_STACK_MIN);
    CHECK(pthread_create(&thread, &smallest, print_both, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(length > 60000);
}

TEST(each_write_of_epoch_gives_new_numbers)
{
    uint64_t first = refresh();
    size_t before = size_of("stats.allocated");
    void *object = malloc(5000000);
    CHECK_EQUAL(size_of("stats.allocated"), before);
    CHECK(refresh() > first);
    CHECK(size_of("stats.allocated") >= before + 5000000);
    CHECK(size_of("stats.allocated") < before + 5000000 + 65536);
    free(object);
}

TEST(numbers_of_one_snapshot_go_together)
{
    refresh();
    size_t allocated = size_of("stats.allocated"), active = size_of("stats.active"),
           resident = size_of("stats.resident");
    CHECK(active >= allocated && active % 4096 == 0);
    CHECK(resident + size_of("stats.arenas.4096.holes") >= active + size_of("stats.metadata"));
    CHECK(size_of("stats.mapped") >= active);
    CHECK_EQUAL(size_of("stats.arenas.4096.small.allocated") + size_of("stats.arenas.4096.large.allocated"), allocated);
    CHECK_EQUAL(size_of("stats.arenas.4096.pactive") * 4096, active);
}

TEST(the_number_of_arenas_means_all_of_them)
{
    unsigned arenas = 0;
    size_t bytes = sizeof arenas;
    char name[64];
    CHECK_EQUAL(ctl("arenas.narenas", &arenas, &bytes, NULL, 0), 0);
    snprintf(name, sizeof name, "stats.arenas.%u.pactive", arenas);
    CHECK_EQUAL(size_of(name), size_of("stats.arenas.4096.pactive"));
    snprintf(name, sizeof name, "stats.arenas.%u.pactive", arenas + 1);
    CHECK(ctl(name, NULL, NULL, NULL, 0) == ENOENT);
    CHECK(ctl("stats.arenas.4097.pactive", NULL, NULL, NULL, 0) == ENOENT);
}

TEST(a_mib_reads_class_after_class)
{
    size_t mib[7], depth = 7, regions = 0, bytes = sizeof(size_t), sum = 0, size, class_depth = 4, class_mib[4];
    unsigned bins = 0;
    size_t bins_bytes = sizeof bins;
    CHECK_EQUAL(ctl("arenas.nbins", &bins, &bins_bytes, NULL, 0), 0);
    CHECK_EQUAL(to_mib("stats.arenas.4096.bins.0.curregs", mib, &depth), 0);
    CHECK_EQUAL(to_mib("arenas.bin.0.size", class_mib, &class_depth), 0);
    CHECK_EQUAL(depth, 6);
    for (unsigned bin = 0; bin < bins; bin++) {
        mib[4] = class_mib[2] = bin;
        CHECK_EQUAL(by_mib(mib, depth, &regions, &bytes, NULL, 0), 0);
        CHECK_EQUAL(by_mib(class_mib, class_depth, &size, &bytes, NULL, 0), 0);
        sum += regions * size;
    }
    CHECK_EQUAL(sum, size_of("stats.arenas.4096.small.allocated"));
    mib[4] = bins;
    CHECK(by_mib(mib, depth, &regions, &bytes, NULL, 0) == ENOENT);
}

TEST(classes_beyond_the_address_space_are_zero)
{
    CHECK_EQUAL(size_of("stats.arenas.0.lextents.195.curlextents"), 0);
    CHECK_EQUAL(size_of("stats.arenas.0.extents.198.dirty_bytes"), 0);
    CHECK_EQUAL(size_of("stats.arenas.0.hpa_shard.nonfull_slabs.63.npageslabs_nonhuge"), 0);
    CHECK(ctl("stats.arenas.0.extents.199.ndirty", NULL, NULL, NULL, 0) == ENOENT);
}

TEST(counts_of_locks_can_be_reset)
{
    CHECK_EQUAL(ctl("stats.mutexes.reset", NULL, NULL, NULL, 0), 0);
    uint64_t operations = 0;
    size_t bytes = sizeof operations;
    refresh();
    CHECK_EQUAL(ctl("stats.arenas.0.mutexes.extents_dirty.num_ops", &operations, &bytes, NULL, 0), 0);
    CHECK(operations < 100);
}

TEST(a_zero_realloc_is_counted)
{
    size_t before = size_of("stats.zero_reallocs");
    void *object = malloc(10);
    object = realloc(object, under_test_opaque(0));
    refresh();
    CHECK_EQUAL(size_of("stats.zero_reallocs"), before + 1);
    free(object);
}

static _Atomic bool stop;

static void *
work(void *seed)
{
    uint64_t state = (uintptr_t)seed;
    void *objects[200] = {NULL};
    while (!stop) {
        unsigned slot = (unsigned)(under_test_random(&state) % 200);
        free(objects[slot]);
        objects[slot] = malloc(under_test_random(&state) % (under_test_random(&state) % 50 == 0 ? 300000 : 2000));
    }
    for (unsigned slot = 0; slot < 200; slot++) {
        free(objects[slot]);
    }
    return NULL;
}

TEST(numbers_go_together_while_threads_work)
{
    pthread_t threads[8];
    for (uintptr_t thread = 0; thread < 8; thread++) {
        pthread_create(&threads[thread], NULL, work, (void *)(thread + 1));
    }
    for (unsigned round = 0; round < 300 && test_failures < 10; round++) {
        refresh();
        size_t allocated = size_of("stats.allocated"), active = size_of("stats.active");
        CHECK(active >= allocated && active % 4096 == 0 && active < (size_t)1 << 40);
        CHECK(size_of("stats.resident") >= active + size_of("stats.metadata"));
        if (round % 50 == 0) {
            length = 0;
            print(hear, heard, "J");
            CHECK(strcmp(heard + length - 3, "}}}") == 0);
        }
    }
    stop = true;
    for (unsigned thread = 0; thread < 8; thread++) {
        pthread_join(threads[thread], NULL);
    }
}
