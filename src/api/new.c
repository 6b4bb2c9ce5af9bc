/* SPDX-License-Identifier: MIT */
/*
 * new: C++'s operator new and delete under their mangled names.  So the library needs no C++ runtime, and a C program
 * loads none.  The runtime's functions are weak: they exist exactly if code that can catch their exceptions exists.
 *
 * Not here  operator new(nothrow) without memory: new_nothrow.cpp.
 */
#include "api/new.h"
#include "alloc/alloc.h"
#include "api/malloc.h"
#include "base/options.h"
#include "base/text.h"
#include "os/fatal.h"

#include <stdlib.h>

typedef void (*new_handler)(void);
HEW_WEAK new_handler _ZSt15get_new_handlerv(void);
HEW_WEAK _Noreturn void _ZSt17__throw_bad_allocv(void);

void *
hew_new_try(size_t size, size_t alignment)
{
    return alignment == 0 ? hew_entry_malloc(size) : hew_alloc_aligned(size, alignment, false);
}

#define HUGE ((size_t)1 << 30)

/* jemalloc's wording, which programs search for. */
HEW_COLD static void
report_failed(size_t size)
{
    char words[128];
    struct hew_text text;
    hew_text_begin(&text, words, sizeof words);
    hew_text_put(&text, "Allocation of size ");
    hew_text_put_unsigned(&text, size);
    hew_text_put(&text, " failed.");
    hew_text_put(&text, size < HUGE ? "" : " The heap may be corrupted, if the large size is unexpected.");
    hew_misuse(HEW_FATAL_infallible_new, "operator new", 0, words);
}

bool
hew_new_call_handler(size_t size)
{
    if (hew_options.experimental_infallible_new) {
        report_failed(size);
        return false;
    }
    new_handler handler = _ZSt15get_new_handlerv == NULL ? NULL : _ZSt15get_new_handlerv();
    if (handler == NULL) {
        return false;
    }
    handler();
    return true;
}

/* The loop that the standard requires: try, call the handler, try again; without a handler throw bad_alloc.  It does
 * not call hew_new_try(): the fast path has already failed, and trying it again would miss the end of a period. */
static HEW_NOINLINE void *
new_slow(size_t size, size_t alignment)
{
    void *object;
    while ((object = alignment == 0 ? hew_malloc_slow(size) : hew_alloc_aligned(size, alignment, false)) == NULL) {
        if (hew_new_call_handler(size)) {
            continue;
        }
        if (hew_options.experimental_infallible_new) {
            return NULL; /* a hook has received the report */
        }
        if (_ZSt17__throw_bad_allocv != NULL) {
            _ZSt17__throw_bad_allocv();
        }
        hew_os_abort();
    }
    return object;
}

HEW_INLINE void *
new_object(size_t size)
{
    void *object = hew_fast_take(size);
    return HEW_LIKELY(object != NULL) ? object : new_slow(size, 0);
}

HEW_INLINE void *
new_aligned(size_t size, size_t alignment)
{
    void *object = hew_fast_take_aligned(size, alignment);
    return HEW_LIKELY(object != NULL) ? object : new_slow(size, alignment);
}

static HEW_NOINLINE void
delete_slow(void *object)
{
    hew_alloc_free("operator delete", object);
}

static HEW_NOINLINE void
delete_sized_slow(void *object, size_t size, size_t alignment)
{
    if (alignment == 0 && hew_fast_give_sized_large(object, size)) {
        return;
    }
    if (hew_alloc_is_sized("operator delete", object, size, alignment)) {
        hew_alloc_free("operator delete", object);
    }
}

HEW_INLINE void
delete_object(void *object)
{
    if (HEW_UNLIKELY(!hew_fast_give(object))) {
        delete_slow(object);
    }
}

/* By an operator that few programs call. */
static void
delete_rarely(void *object)
{
    if (!hew_fast_give_by_call(object)) {
        delete_slow(object);
    }
}

HEW_INLINE void
delete_sized(void *object, size_t size)
{
    if (HEW_UNLIKELY(!hew_fast_give_sized(object, size))) {
        delete_sized_slow(object, size, 0);
    }
}

/* clang-format off */
HEW_EXPORT void *_Znwm(size_t size) { return new_object(size); }
HEW_EXPORT void *_Znam(size_t size) { return new_object(size); }
HEW_EXPORT void *_ZnwmSt11align_val_t(size_t size, size_t alignment) { return new_aligned(size, alignment); }
HEW_EXPORT void *_ZnamSt11align_val_t(size_t size, size_t alignment) { return new_aligned(size, alignment); }

HEW_EXPORT void _ZdlPv(void *object) { delete_object(object); }
HEW_EXPORT void _ZdaPv(void *object) { delete_object(object); }
HEW_EXPORT void _ZdlPvRKSt9nothrow_t(void *object, const void *nothrow) { delete_rarely(object); }
HEW_EXPORT void _ZdaPvRKSt9nothrow_t(void *object, const void *nothrow) { delete_rarely(object); }
HEW_EXPORT void _ZdlPvm(void *object, size_t size) { delete_sized(object, size); }
HEW_EXPORT void _ZdaPvm(void *object, size_t size) { delete_sized(object, size); }
HEW_EXPORT void _ZdlPvSt11align_val_t(void *object, size_t alignment) { delete_rarely(object); }
HEW_EXPORT void _ZdaPvSt11align_val_t(void *object, size_t alignment) { delete_rarely(object); }
HEW_EXPORT void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *object, size_t alignment, const void *nothrow) { delete_rarely(object); }
HEW_EXPORT void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *object, size_t alignment, const void *nothrow) { delete_rarely(object); }
HEW_EXPORT void _ZdlPvmSt11align_val_t(void *object, size_t size, size_t alignment) { delete_sized_slow(object, size, alignment); }
HEW_EXPORT void _ZdaPvmSt11align_val_t(void *object, size_t size, size_t alignment) { delete_sized_slow(object, size, alignment); }
/* clang-format on */
