/* SPDX-License-Identifier: MIT */
/*
 * compiler: macros for what C17 cannot express, and CPU instructions.
 *
 * Not here  Anything about the operating system: os/.
 */
#ifndef HEW_BASE_COMPILER_H
#define HEW_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HEW_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#ifndef HEW_INLINE /* coverage builds define it differently, so that each branch of a function exists once */
#define HEW_INLINE static inline __attribute__((always_inline))
#endif
#define HEW_NOINLINE __attribute__((noinline))
#define HEW_COLD __attribute__((cold, noinline))
#define HEW_UNCHECKED_THREADS __attribute__((no_sanitize("thread"))) /* reads data that another thread may be writing */
#define HEW_EXPORT __attribute__((visibility("default")))
#define HEW_PROTECTED __attribute__((visibility("protected"))) /* exported data; only our own copy is used */
#define HEW_HIDDEN __attribute__((visibility("hidden")))       /* data of this library, accessed without the GOT */
#define HEW_WEAK __attribute__((weak))
#define HEW_CACHE_LINE 64
#define HEW_ALIGNED(bytes) __attribute__((aligned(bytes)))

/* What HEW_ASSERT() checks: 0 nothing, 1 hand-overs, 2 structures of bounded size, 3 whole structures. */
#ifndef HEW_CHECK_LEVEL
#define HEW_CHECK_LEVEL 0
#endif

/* The number of bits of a user address.  aarch64 Linux uses all 48, and allocates addresses from the top. */
#if defined(__aarch64__)
#define HEW_LG_ADDRESS 48
#else
#define HEW_LG_ADDRESS 47
#endif

/* Reads a byte that another thread may be writing, where the old value is valid too.  Compilers make a separate
 * instruction of a relaxed load.  They fold a plain load into the compare that follows, and for a single byte it means
 * the same.  What is read at an address computed from the byte is as new as the byte, which TSan does not know. */
#if defined(__SANITIZE_THREAD__)
#define HEW_READ_BYTE(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#else
#define HEW_READ_BYTE(place) (place)
#endif

/* Reads a word with acquire.  The word is written once, with release, after all data that belongs to it.  Every load of
 * an x86 CPU is an acquire, and compilers fold a plain load into the compare that follows.  hew_published() keeps the
 * compiler from moving later accesses before the load. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define HEW_READ_PUBLISHED(word) (word)
#else
#define HEW_READ_PUBLISHED(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#endif

HEW_INLINE void
hew_published(void)
{
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
}

/* Tells the CPU that this is a spin loop. */
HEW_INLINE void
hew_cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Returns the thread pointer, through which the thread's own data is found. */
HEW_INLINE void *
hew_cpu_thread_pointer(void)
{
#if defined(__x86_64__)
    void *pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
#else
    return __builtin_thread_pointer();
#endif
}

/*
 * Decrements a counter and returns true if it is then 0.  The subtraction sets the flag that the branch tests, in one
 * instruction on memory.  Compilers find this for a plain counter, but not for one in an array of a struct.
 */
HEW_INLINE bool
hew_count_down(uint32_t *counter)
{
#if defined(__x86_64__)
    bool zero;
    __asm__("subl $1, %1" : "=@ccz"(zero), "+m"(*counter));
    return zero;
#else
    return --*counter == 0;
#endif
}

/* Returns the object of type `type` whose member `member` is at `pointer`. */
#define HEW_CONTAINER(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

#if defined(__FILE_NAME__)
#define HEW_FILE_NAME __FILE_NAME__
#else
#define HEW_FILE_NAME __FILE__
#endif
#define HEW_TEXT(number) HEW_TEXT_OF(number)
#define HEW_TEXT_OF(number) #number

/* Ends the process and reports the place and the text of the check.  Defined in os/fatal.c, because base itself writes
 * no output. */
_Noreturn void hew_check_failed(const char *function, const char *what);

/*
 * Checks an internal invariant.  If the check level is below `level`, it is compiled but removed, including the
 * condition.
 *
 *     1  At a hand-over between layers, on both sides: the object is what the other side says.  A few loads each.
 *     2  One structure of bounded size: a slab's bits, both neighbours of an extent.
 *     3  A walk over a whole heap, bin or magazine: os/check.h decides how often.
 */
#define HEW_ASSERT(level, condition)                                                                                   \
    do {                                                                                                               \
        if ((level) <= HEW_CHECK_LEVEL && HEW_UNLIKELY(!(condition))) {                                                \
            hew_check_failed(__func__, HEW_FILE_NAME ":" HEW_TEXT(__LINE__) ": " #condition);                          \
        }                                                                                                              \
    } while (0)

#endif
