/* SPDX-License-Identifier: MIT */
/*
 * own_classes: with HEW_CONF=classes:... all that tells a size tells the same: the tables of mallctl, nallocx, sallocx,
 * malloc_usable_size, and the statistics.
 */
#include "under_test.h"
#include "unit/test.h"

#include <malloc.h>

typedef int (*control_function)(const char *, void *, size_t *, void *, size_t);
typedef size_t (*size_function)(size_t, int);
typedef size_t (*object_function)(const void *, int);

enum { MOST = 100 };
static control_function control;
static size_function nallocx_of;
static object_function sallocx_of;
static size_t sizes[MOST];
static unsigned count;

static unsigned
read_unsigned(const char *name)
{
    unsigned value = 0;
    size_t bytes = sizeof value;
    CHECK_EQUAL(control(name, &value, &bytes, NULL, 0), 0);
    return value;
}

static size_t
read_size(const char *format, unsigned index)
{
    char name[80];
    size_t value = 0, bytes = sizeof value;
    snprintf(name, sizeof name, format, index);
    CHECK_EQUAL(control(name, &value, &bytes, NULL, 0), 0);
    return value;
}

__attribute__((constructor)) static void
find_functions(void)
{
    *(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
    *(void **)&nallocx_of = dlsym(RTLD_DEFAULT, "nallocx");
    *(void **)&sallocx_of = dlsym(RTLD_DEFAULT, "sallocx");
    count = read_unsigned("arenas.nbins");
    for (unsigned i = 0; i < count && i < MOST; i++)
        sizes[i] = read_size("arenas.bin.%u.size", i);
}

/* As HEW_CONF names them, and powers of two: there is nothing else that a wrong table could agree with. */
TEST(the_table_is_what_the_environment_says)
{
    const char *text = strstr(getenv("HEW_CONF"), "classes:") + strlen("classes:");
    unsigned index = 0;
    for (char *end; index < count && *text != '\0'; text = end + (*end == '|')) {
        for (size_t named = strtoul(text, &end, 10); index < count && sizes[index] < named; index++)
            CHECK_EQUAL(sizes[index] & (sizes[index] - 1), 0);
        CHECK_EQUAL(strtoul(text, &end, 10), sizes[index]);
        index++;
    }
    CHECK_EQUAL(index, count);
    const char *setting = NULL;
    size_t bytes = sizeof setting;
    CHECK_EQUAL(control("opt.classes", &setting, &bytes, NULL, 0), 0);
    CHECK_EQUAL(strcmp(setting, strstr(getenv("HEW_CONF"), ":") + 1), 0);
}

TEST(every_way_to_ask_tells_the_smallest_class_that_holds_the_size)
{
    unsigned index = 0;
    for (size_t size = 1; size <= sizes[count - 1]; size++) {
        index += size > sizes[index];
        void *object = malloc(size);
        CHECK_EQUAL(malloc_usable_size(object), sizes[index]);
        CHECK_EQUAL(sallocx_of(object, 0), sizes[index]);
        CHECK_EQUAL(nallocx_of(size, 0), sizes[index]);
        CHECK(realloc(object, sizes[index]) == object);
        free(object);
    }
    CHECK_EQUAL(nallocx_of(sizes[count - 1] + 1, 0), 16384);
}

static size_t
requests(unsigned index)
{
    uint64_t epoch = 1;
    CHECK_EQUAL(control("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    return read_size("stats.arenas.4096.bins.%u.nrequests", index);
}

TEST(each_bin_counts_the_requests_of_its_own_sizes)
{
    enum { OBJECTS = 500 };
    for (unsigned index = 1; index < count; index++) {
        size_t before = requests(index);
        for (unsigned i = 0; i < OBJECTS; i++)
            free(malloc(under_test_opaque(sizes[index - 1] + 1)));
        CHECK_EQUAL(requests(index), before + OBJECTS);
    }
}
