/* SPDX-License-Identifier: MIT */
/*
 * small_share: what a small program maps of libhew.so: two pieces of 64 KiB, in which everything lies that it runs.
 *
 * Where the file's mapping begins between two multiples of 64 KiB, the system may map the piece behind as well.
 * More than that means that something which most programs run is not named in cmake/first.txt or cmake/often.txt.
 *
 * On a busy machine one run in a hundred has one piece more (older libraries had it as well; what maps it is not known).  What
 * every program runs is there each time: of a few processes the best one counts.
 */
#include "smaps.h"
#include "under_test.h"
#include "unit/test.h"

#include <malloc.h>

#define MOST_KIB (3 * 64 - 4)
#define MANY 300

/* Enough of one size to fill its magazine and its slabs, and all of it freed again. */
static void
allocate_many(size_t size)
{
    static char *objects[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        objects[i] = malloc(size);
        objects[i][0] = 1;
    }
    for (unsigned i = 0; i < MANY; i++) {
        free(objects[i]);
    }
}

/* A little of each, as any program does. */
static void
allocate(void)
{
    for (size_t size = 24; size < 4000; size *= 3) {
        allocate_many(size);
    }
    for (size_t size = 8; size < 40000; size += size / 3 + 8) {
        char *object = malloc(size);
        object[0] = 1;
        object = realloc(object, size + size / 2);
        free(object);
        free(calloc(1, size));
    }
}

/* Enough for a purger's thread, with the calls that C++ and interpreters make beside malloc and free. */
static void
allocate_much(void)
{
    void *aligned = NULL;
    free(posix_memalign(&aligned, 64, 1000) == 0 ? aligned : NULL);
    for (unsigned round = 0; round < 8; round++) {
        allocate_many(48 << 10);
        allocate_many(2000);
    }
    char *object = malloc(100);
    object[malloc_usable_size(object) - 1] = 1;
    free(object);
}

/* Resident KiB of the library's code, 0 when it cannot be told. */
static long
resident_code(void)
{
    char *maps = smaps_read();
    for (char *name = maps; (name = strstr(name, "libhew.so\n")) != NULL; name++) {
        char *line = name;
        while (line > maps && line[-1] != '\n') {
            line--;
        }
        char *resident = strstr(name, "\nRss:");
        if (strstr(line, " r-xp ") < name && strstr(line, " r-xp ") != NULL && resident != NULL) {
            return strtol(resident + 5, NULL, 10);
        }
    }
    return 0;
}

/* Does not return while there may be another process; how many there were stands in the environment. */
static void
begin_anew(void)
{
    char *own[] = {"preload_small_share", NULL}, next[] = "2";
    const char *now = getenv("SMALL_SHARE_RUN");
    next[0] = now == NULL ? '2' : (char)(now[0] + 1);
    if (next[0] <= '4') {
        setenv("SMALL_SHARE_RUN", next, 1);
        execv("/proc/self/exe", own);
    }
}

TEST(a_small_program_has_the_first_piece_of_the_library_only)
{
    allocate();
    allocate_much();
    long kib = resident_code();
    if (under_test_strict() && sysconf(_SC_PAGESIZE) == 4096) {
        if (kib > MOST_KIB) {
            begin_anew();
        }
        CHECK(kib <= MOST_KIB);
    }
    printf("%ld KiB of the library's code are resident\n", kib);
}
