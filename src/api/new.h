/* SPDX-License-Identifier: MIT */
/*
 * new: declarations that the two halves of operator new share, for C and C++; and prototypes of the operators, which no
 * C header has.
 */
#ifndef HEW_API_NEW_H
#define HEW_API_NEW_H

#include <stdbool.h>
#include <stddef.h>

/* NULL: out of memory.  `alignment` 0: as malloc aligns. */
void *hew_new_try(size_t size, size_t alignment);

/* `size` bytes cannot be allocated.  Calls the program's new_handler, which may throw.  False: there is no handler. */
bool hew_new_call_handler(size_t size);

void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmSt11align_val_t(size_t size, size_t alignment);
void *_ZnamSt11align_val_t(size_t size, size_t alignment);
void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow);
void *_ZnamRKSt9nothrow_t(size_t size, const void *nothrow);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *nothrow);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *nothrow);
void _ZdlPv(void *object);
void _ZdaPv(void *object);
void _ZdlPvRKSt9nothrow_t(void *object, const void *nothrow);
void _ZdaPvRKSt9nothrow_t(void *object, const void *nothrow);
void _ZdlPvm(void *object, size_t size);
void _ZdaPvm(void *object, size_t size);
void _ZdlPvSt11align_val_t(void *object, size_t alignment);
void _ZdaPvSt11align_val_t(void *object, size_t alignment);
void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *object, size_t alignment, const void *nothrow);
void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *object, size_t alignment, const void *nothrow);
void _ZdlPvmSt11align_val_t(void *object, size_t size, size_t alignment);
void _ZdaPvmSt11align_val_t(void *object, size_t size, size_t alignment);

#endif
