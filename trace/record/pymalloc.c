/* SPDX-License-Identifier: MIT */
/* pymalloc: see pymalloc.h. */
#include "record/pymalloc.h"

#include "format/format.h"
#include "record/calls.h"
#include "record/file.h"
#include "record/next.h"

/* CPython's PyMemAllocatorEx. */
struct allocator {
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *object, size_t size);
    void (*free)(void *context, void *object);
};

enum { DOMAIN_MEMORY = 1, DOMAIN_OBJECTS = 2, DOMAINS };

static struct allocator before[DOMAINS];

static void *
py_malloc(void *context, size_t size)
{
    const struct allocator *next = context;
    bool hushed = hew_trace_hush();
    void *object = next->malloc(next->context, size);

    hew_trace_unhush(hushed);
    hew_trace_made(object, HEW_TRACE_MALLOC, size, 0);
    return object;
}

static void *
py_calloc(void *context, size_t count, size_t size)
{
    const struct allocator *next = context;
    bool hushed = hew_trace_hush();
    void *object = next->calloc(next->context, count, size);

    hew_trace_unhush(hushed);
    hew_trace_made(object, HEW_TRACE_CALLOC, count * size, 0);
    return object;
}

static void *
py_realloc(void *context, void *object, size_t size)
{
    const struct allocator *next = context;
    uint32_t handle = object == NULL ? 0 : hew_trace_before_realloc(object);
    bool hushed = hew_trace_hush();
    void *result = next->realloc(next->context, object, size);

    hew_trace_unhush(hushed);
    hew_trace_after_realloc(object, handle, result, size == 0 ? 1 : size); /* Python returns an object for size 0 */
    return result;
}

static void
py_free(void *context, void *object)
{
    const struct allocator *next = context;
    bool hushed;

    if (object != NULL) {
        hew_trace_ended(object);
    }
    hushed = hew_trace_hush();
    next->free(next->context, object);
    hew_trace_unhush(hushed);
}

void
hew_pymalloc_take(void)
{
    void (*get)(int, struct allocator *), (*set)(int, struct allocator *);

    *(void **)&get = hew_next_of_program("PyMem_GetAllocator");
    *(void **)&set = hew_next_of_program("PyMem_SetAllocator");
    if (get == NULL || set == NULL || before[DOMAIN_MEMORY].malloc != NULL) {
        return;
    }
    for (int domain = DOMAIN_MEMORY; domain < DOMAINS; domain++) {
        struct allocator ours = {&before[domain], py_malloc, py_calloc, py_realloc, py_free};
        get(domain, &before[domain]);
        set(domain, &ours);
    }
    __atomic_fetch_or(&hew_trace_shared.header->flags, HEW_TRACE_OBJECTS, __ATOMIC_RELAXED);
}
