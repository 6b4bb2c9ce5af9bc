/* SPDX-License-Identifier: MIT */
/*
 * allocator: a malloc that forwards to the C library's and has one fault, chosen when it is compiled (-DFAULT=...).
 *
 * Owns      nothing.  Promises: with SOUND it behaves; each other fault shows within a few thousand calls.
 * Why       the harness must be seen to catch what it is there to catch (test_harness.py).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum fault { SOUND, CRASHES, HANGS, DIRTIES, COMPLAINS };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *object, size_t size);
extern void __libc_free(void *object);

static int calls;

static void
misbehave(void)
{
    static const char complaint[] = "<hew>: something is wrong\n";
    if (++calls != 2000) {
        return;
    }
    if (FAULT == CRASHES) {
        *(volatile char *)8 = 1;
    } else if (FAULT == HANGS) {
        for (;;) {
            pause();
        }
    } else if (FAULT == COMPLAINS) {
        (void)!write(2, complaint, sizeof complaint - 1);
    }
}

void *
malloc(size_t size)
{
    misbehave();
    return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    void *object = __libc_calloc(count, size);
    if (FAULT == DIRTIES && object != NULL && count * size == 96) {
        memset(object, 1, 96);
    }
    return object;
}

void *
realloc(void *object, size_t size)
{
    return __libc_realloc(object, size);
}

void
free(void *object)
{
    __libc_free(object);
}
