/* SPDX-License-Identifier: MIT */
/*
 * new: C++'s operator new and delete, for allocators that have their own.  Where the runtime's are next, which call malloc, they are
 * written down here as well, once.
 *
 * Mangled names: Znw new, Zna new[], Zdl delete, Zda delete[]; m a size, St11align_val_t an alignment, RKSt9nothrow_t nothrow.
 */
#include "format/format.h"
#include "record/calls.h"
#include "record/next.h"

typedef void *(*make)(size_t, uintptr_t, uintptr_t);
typedef void (*end)(void *, uintptr_t, uintptr_t);

HEW_INLINE void *
find(void **known, const char *name)
{
    void *found = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    if (HEW_UNLIKELY(found == NULL)) {
        found = hew_next_named(name);
        __atomic_store_n(known, found, __ATOMIC_RELEASE);
    }
    return found;
}

static void *
make_object(void *next, size_t size, uintptr_t second, uintptr_t third, size_t alignment)
{
    void *object;

    if (HEW_UNLIKELY(next == NULL)) {
        __builtin_trap(); /* a program that calls it was linked with somebody who has it */
    }
    object = ((make)next)(size, second, third); /* which may throw */
    if (hew_trace_knows(object)) {
        return object; /* the runtime's new called our malloc */
    }
    hew_trace_made(object, alignment == 0 ? HEW_TRACE_MALLOC : HEW_TRACE_ALIGNED, size, alignment);
    return object;
}

static void
end_object(void *next, void *object, uintptr_t second, uintptr_t third)
{
    if (object == NULL) {
        return;
    }
    if (HEW_UNLIKELY(next == NULL)) {
        __builtin_trap();
    }
    hew_trace_ended(object); /* the runtime's delete calls our free, which then finds nothing to write down */
    ((end)next)(object, second, third);
}

/* alignment: where among the arguments it stands, or 0. */
#define NEW(name, alignment)                                                                                           \
    HEW_EXPORT void *name(size_t size, uintptr_t second, uintptr_t third);                                             \
    void *name(size_t size, uintptr_t second, uintptr_t third)                                                         \
    {                                                                                                                  \
        static void *known;                                                                                            \
        return make_object(find(&known, #name), size, second, third, alignment);                                       \
    }
#define DELETE(name)                                                                                                   \
    HEW_EXPORT void name(void *object, uintptr_t second, uintptr_t third);                                             \
    void name(void *object, uintptr_t second, uintptr_t third)                                                         \
    {                                                                                                                  \
        static void *known;                                                                                            \
        end_object(find(&known, #name), object, second, third);                                                        \
    }

NEW(_Znwm, 0)
NEW(_Znam, 0)
NEW(_ZnwmRKSt9nothrow_t, 0)
NEW(_ZnamRKSt9nothrow_t, 0)
NEW(_ZnwmSt11align_val_t, second)
NEW(_ZnamSt11align_val_t, second)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, second)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, second)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
