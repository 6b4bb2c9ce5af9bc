/* SPDX-License-Identifier: MIT */
/*
 * oom_library: the whole library, from its very first call on: a refusal is NULL and ENOMEM, and nothing else touches
 * errno.  What libc keeps for itself (a thread's data for the next thread) is left, but no more than without refusals.
 */
#include "scenario.h"

#include "api/messages.h"
#include "cache/depot.h"
#include "cache/thread.h"
#include "stats/snapshot.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 4711

static void *
checked(void *object)
{
    if (errno != (object == NULL ? ENOMEM : UNTOUCHED)) {
        oom_wrong("errno is ENOMEM when there is no memory, and as it was when there is");
    }
    return object;
}

static void *
malloc_here(size_t size)
{
    errno = UNTOUCHED;
    return checked(malloc(size));
}

static void *
calloc_here(size_t count, size_t size)
{
    errno = UNTOUCHED;
    return checked(calloc(count, size));
}

static void *
realloc_here(void *object, size_t size)
{
    errno = UNTOUCHED;
    return checked(realloc(object, size));
}

static void *
aligned_here(size_t alignment, size_t size)
{
    void *object = NULL;
    errno = UNTOUCHED;
    if (size % 2 == 0) {
        return checked(aligned_alloc(alignment, size));
    }
    int result = posix_memalign(&object, alignment, size);
    if (errno != UNTOUCHED || result != (object == NULL ? ENOMEM : 0)) {
        oom_wrong("posix_memalign tells by its result, and keeps errno");
    }
    return object;
}

static void
free_here(void *object)
{
    errno = UNTOUCHED;
    free(object);
    if (errno != UNTOUCHED) {
        oom_wrong("free keeps errno");
    }
}

/* The purger would make its own calls at times of its own.  Compiled-in settings: setenv() allocates. */
static void
begin(const char *settings)
{
    static char all[256] = "background_thread:false,narenas:2";
    strcat(strcat(all, settings == NULL ? "" : ","), settings == NULL ? "" : settings);
    malloc_conf = all;
}

static void
nothing(void)
{
}

static size_t
left(void)
{
    hew_slot_drain(true); /* the thread still uses the slot, so no barrier is needed */
    hew_thread_death();
    hew_depot_drain(true);
    return hew_stats_take() ? hew_stats_totals().allocated : SIZE_MAX;
}

int
main(void)
{
    static const struct oom_variant library = {.malloc = malloc_here,
                                               .calloc = calloc_here,
                                               .realloc = realloc_here,
                                               .aligned = aligned_here,
                                               .free = free_here,
                                               .begin = begin,
                                               .end_thread = nothing,
                                               .left = left};
    return oom_run(&library);
}
