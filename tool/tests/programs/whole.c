// A run that counts itself: what each of its functions made, holds at the peak, left and freed at once. It prints that as JSON.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

enum site { CACHE, PEAK, LEAKS, CHURN, GROW, SITES };
static const char *const names[SITES] = {"fill_cache", "peak_here", "leaks_here", "churn", "grow"};

struct count {
    uint64_t made, made_bytes, live, live_bytes, temporary, temporary_bytes;
};
static struct count now[SITES], at_peak[SITES];
static uint64_t live_bytes, peak_bytes, peak_live, operations;

static struct object {
    void *address;
    size_t size;
    uint64_t born;
} objects[40000];
static size_t object_count;

INLINE void
made(enum site site, size_t size)
{
    operations++;
    now[site].made++;
    now[site].made_bytes += size;
    now[site].live++;
    now[site].live_bytes += size;
    live_bytes += size;
    if (live_bytes > peak_bytes) {
        peak_bytes = live_bytes;
        memcpy(at_peak, now, sizeof(now));
        peak_live = 0;
        for (int i = 0; i < SITES; i++) {
            peak_live += now[i].live;
        }
    }
}

static void
ended(enum site site, size_t size, uint64_t born)
{
    operations++;
    now[site].live--;
    now[site].live_bytes -= size;
    live_bytes -= size;
    if (operations - born <= 1) {
        now[site].temporary++;
        now[site].temporary_bytes += size;
    }
}

INLINE struct object
take(enum site site, size_t size)
{
    void *address = malloc(size);

    made(site, size);
    return (struct object){address, size, operations};
}

static void
give(enum site site, struct object object)
{
    ended(site, object.size, object.born);
    free(object.address);
}

NOINLINE void
fill_cache(void)
{
    for (int i = 0; i < 20000; i++) {
        objects[object_count++] = take(CACHE, 20 + (size_t)(i * 7919 % 400));
    }
}

NOINLINE void
peak_here(void)
{
    struct object held[57];

    for (int i = 0; i < 57; i++) {
        held[i] = take(PEAK, 1000000);
    }
    for (int i = 56; i >= 0; i--) {
        give(PEAK, held[i]);
    }
}

NOINLINE void
leaks_here(void)
{
    for (int i = 0; i < 1000; i++) {
        take(LEAKS, 1000);
    }
}

NOINLINE void
churn(void)
{
    for (int i = 0; i < 300000; i++) {
        struct object object = take(CHURN, 10 + (size_t)(i % 60));
        if (i % 1000 == 0) {
            struct object other = take(CHURN, 5000);
            give(CHURN, object);
            object = other;
        }
        give(CHURN, object);
    }
}

NOINLINE void
grow(void)
{
    struct object object = take(GROW, 16);

    for (size_t size = 32; size <= 1 << 20; size *= 2) {
        uint64_t born = object.born;
        object.address = realloc(object.address, size);
        ended(GROW, object.size, born);
        operations--; /* one operation that ends and makes */
        made(GROW, size);
        object.size = size;
        object.born = operations;
    }
    give(GROW, object);
}

NOINLINE void
empty_cache(void)
{
    while (object_count > 0) {
        give(CACHE, objects[--object_count]);
    }
}

static char text[8192]; // dprintf allocates
static size_t length;

#define SAY(...) (length += (size_t)snprintf(text + length, sizeof(text) - length, __VA_ARGS__))

static void
print_counts(const char *name, const struct count *counts, const char *end)
{
    SAY("\"%s\": {", name);
    for (int i = 0; i < SITES; i++) {
        const struct count *one = &counts[i];
        SAY("\"%s\": [%lu, %lu, %lu, %lu, %lu, %lu]%s", names[i], one->made, one->made_bytes,
                one->live, one->live_bytes, one->temporary, one->temporary_bytes, i + 1 < SITES ? ", " : "");
    }
    SAY("}%s", end);
}

int
main(int argc, char **argv)
{
    (void)argv;
    fill_cache();
    peak_here();
    leaks_here();
    grow();
    churn();
    if (argc == 1) {
        empty_cache();
    }
    SAY("{\"peak\": [%lu, %lu], \"operations\": %lu, ", peak_live, peak_bytes, operations);
    print_counts("at_peak", at_peak, ", ");
    print_counts("at_end", now, "}\n");
    return write(STDOUT_FILENO, text, length) != (ssize_t)length;
}
