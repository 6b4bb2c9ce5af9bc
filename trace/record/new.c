/* SPDX-License-Identifier: MIT */
/*
 * new: C++'s operator new and delete, for allocators that define their own.  If the next ones are the C++ runtime's,
 * which call malloc, each object is recorded only once.
 *
 * Mangled names: Znw new, Zna new[], Zdl delete, Zda delete[]; m a size, St11align_val_t an alignment, RKSt9nothrow_t
 * nothrow.
 */
#include "format/format.h"
#include "os/syscall.h"
#include "record/calls.h"
#include "record/next.h"

#include <malloc.h>
#include <stdlib.h>

typedef void *(*make)(size_t, uintptr_t, uintptr_t);
typedef void (*end)(void *, uintptr_t, uintptr_t);

static const char missing; /* its address marks a function that does not exist */

/*
 * The next function of that name.  There is none when dlopen() loaded the C++ runtime into a scope of its own.  An
 * allocator that defines the function would have been loaded from the start, so malloc and free are correct then.
 */
HEW_INLINE void *
find(void **known, const char *name)
{
    void *found = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    if (HEW_UNLIKELY(found == NULL)) {
        found = hew_next_named(name);
        found = found == NULL ? (void *)(uintptr_t)&missing : found;
        __atomic_store_n(known, found, __ATOMIC_RELEASE);
    }
    return found;
}

static void *
make_by_malloc(size_t size, size_t alignment, bool may_fail)
{
    static const char words[] = "hew record: operator new has no memory, and no C++ runtime to throw bad_alloc\n";
    void *object = alignment == 0 ? malloc(size) : memalign(alignment, size);

    if (object == NULL && !may_fail) {
        hew_syscall3(SYS_write, 2, words, sizeof(words) - 1);
        __builtin_trap();
    }
    return object;
}

static void *
make_object(void *next, size_t size, uintptr_t second, uintptr_t third, size_t alignment)
{
    void *object = ((make)next)(size, second, third); /* may throw */

    /* If the runtime's new has called this library's malloc, the object is recorded already. */
    if (!hew_trace_knows(object)) {
        hew_trace_made(object, alignment == 0 ? HEW_TRACE_MALLOC : HEW_TRACE_ALIGNED, size, alignment);
    }
    return object;
}

static void
end_object(void *next, void *object, uintptr_t second, uintptr_t third)
{
    if (object == NULL) {
        return;
    }
    if (HEW_UNLIKELY(next == &missing)) {
        free(object);
        return;
    }
    hew_trace_ended(object); /* the runtime's delete calls this library's free, which then has nothing to record */
    ((end)next)(object, second, third);
}

/* alignment: its position among the arguments, or 0; may_fail: returns NULL instead of throwing. */
#define NEW(name, alignment, may_fail)                                                                                 \
    HEW_EXPORT void *name(size_t size, uintptr_t second, uintptr_t third);                                             \
    void *name(size_t size, uintptr_t second, uintptr_t third)                                                         \
    {                                                                                                                  \
        static void *known;                                                                                            \
        void *next = find(&known, #name);                                                                              \
        return next == &missing ? make_by_malloc(size, alignment, may_fail)                                            \
                                : make_object(next, size, second, third, alignment);                                   \
    }
#define DELETE(name)                                                                                                   \
    HEW_EXPORT void name(void *object, uintptr_t second, uintptr_t third);                                             \
    void name(void *object, uintptr_t second, uintptr_t third)                                                         \
    {                                                                                                                  \
        static void *known;                                                                                            \
        end_object(find(&known, #name), object, second, third);                                                        \
    }

NEW(_Znwm, 0, false)
NEW(_Znam, 0, false)
NEW(_ZnwmRKSt9nothrow_t, 0, true)
NEW(_ZnamRKSt9nothrow_t, 0, true)
NEW(_ZnwmSt11align_val_t, second, false)
NEW(_ZnamSt11align_val_t, second, false)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, second, true)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, second, true)
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
