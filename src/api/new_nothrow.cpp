/* SPDX-License-Identifier: MIT */
/*
 * new_nothrow: operator new(nothrow), which must catch exceptions of a new_handler.
 *
 * This is the only C++ in the library.  The runtime functions that a catch needs are made weak below: without a C++
 * runtime there is no handler, and nothing throws.
 */
extern "C" {
#include "api/new.h"
}

__asm__(".weak __gxx_personality_v0\n.weak __cxa_begin_catch\n.weak __cxa_end_catch\n.weak _Unwind_Resume\n"
        ".weak __cxa_rethrow\n");

static void *
new_nothrow(size_t size, size_t alignment)
{
    void *object;
    try {
        while ((object = hew_new_try(size, alignment)) == nullptr && hew_new_call_handler(size)) {
        }
    } catch (...) {
        return nullptr;
    }
    return object;
}

extern "C" {
#define HEW_EXPORT __attribute__((visibility("default")))
HEW_EXPORT void *
_ZnwmRKSt9nothrow_t(size_t size, const void *)
{
    return new_nothrow(size, 0);
}

HEW_EXPORT void *
_ZnamRKSt9nothrow_t(size_t size, const void *)
{
    return new_nothrow(size, 0);
}

HEW_EXPORT void *
_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *)
{
    return new_nothrow(size, alignment);
}

HEW_EXPORT void *
_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *)
{
    return new_nothrow(size, alignment);
}
}
