/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_calls: jemalloc's functions as programs that want to run with and without it declare them: weak, and by
 * their own hand, from jemalloc's manual page.
 *
 * Owns      nothing; a program of tests/users/ runs with any library preloaded that has these names.
 * Not here  the header that hew installs, include/jemalloc/jemalloc.h: these programs are older than it.
 */
#ifndef HEW_TESTS_USERS_JEMALLOC_CALLS_H
#define HEW_TESTS_USERS_JEMALLOC_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define WEAK __attribute__((weak))

void *mallocx(size_t size, int flags) WEAK;
void *rallocx(void *object, size_t size, int flags) WEAK;
size_t xallocx(void *object, size_t size, size_t extra, int flags) WEAK;
size_t sallocx(const void *object, int flags) WEAK;
void dallocx(void *object, int flags) WEAK;
void sdallocx(void *object, size_t size, int flags) WEAK;
size_t nallocx(size_t size, int flags) WEAK;
int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) WEAK;
int mallctlnametomib(const char *name, size_t *mib, size_t *depth) WEAK;
int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length) WEAK;
void malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options) WEAK;
size_t malloc_usable_size(void *object) WEAK;

#define MALLOCX_LG_ALIGN(lg) ((int)(lg))
#define MALLOCX_ALIGN(alignment) ((int)__builtin_ctzll(alignment))
#define MALLOCX_ZERO 0x40
#define MALLOCX_TCACHE(index) ((int)(((index) + 2) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(index) ((int)(((unsigned)(index) + 1) << 20))
#define MALLCTL_ARENAS_ALL 4096
#define MALLCTL_ARENAS_DESTROYED 4097

/* extent_hooks_t: nine functions, in this order. */
struct hooks {
    void *(*alloc)(struct hooks *, void *address, size_t size, size_t alignment, bool *zero, bool *commit,
                   unsigned arena);
    bool (*dalloc)(struct hooks *, void *address, size_t size, bool committed, unsigned arena);
    void (*destroy)(struct hooks *, void *address, size_t size, bool committed, unsigned arena);
    bool (*commit)(struct hooks *, void *address, size_t size, size_t offset, size_t length, unsigned arena);
    bool (*decommit)(struct hooks *, void *address, size_t size, size_t offset, size_t length, unsigned arena);
    bool (*purge_lazy)(struct hooks *, void *address, size_t size, size_t offset, size_t length, unsigned arena);
    bool (*purge_forced)(struct hooks *, void *address, size_t size, size_t offset, size_t length, unsigned arena);
    bool (*split)(struct hooks *, void *address, size_t size, size_t first, size_t second, bool committed,
                  unsigned arena);
    bool (*merge)(struct hooks *, void *first, size_t first_size, void *second, size_t second_size, bool committed,
                  unsigned arena);
};

/* mallctl that reads one value of exactly `size` bytes. */
static inline int
ctl_read(const char *name, void *value, size_t size)
{
    size_t length = size;
    int status = mallctl(name, value, &length, NULL, 0);
    return status != 0 ? status : length == size ? 0 : -1;
}

static inline int
ctl_write(const char *name, const void *value, size_t size)
{
    return mallctl(name, NULL, NULL, (void *)(uintptr_t)value, size);
}

static inline int
ctl_do(const char *name)
{
    return mallctl(name, NULL, NULL, NULL, 0);
}

/* The same three for names with one number in them. */
static inline const char *
ctl_name(const char *format, size_t index)
{
    static __thread char name[128];
    snprintf(name, sizeof name, format, index);
    return name;
}

static inline size_t
ctl_size(const char *name)
{
    size_t value = SIZE_MAX;
    return ctl_read(name, &value, sizeof value) == 0 ? value : SIZE_MAX;
}

static inline uint64_t
ctl_u64(const char *name)
{
    uint64_t value = UINT64_MAX;
    return ctl_read(name, &value, sizeof value) == 0 ? value : UINT64_MAX;
}

static inline unsigned
ctl_unsigned(const char *name)
{
    unsigned value = UINT32_MAX;
    return ctl_read(name, &value, sizeof value) == 0 ? value : UINT32_MAX;
}

/* A new snapshot of stats.*; the new epoch. */
static inline uint64_t
ctl_refresh(void)
{
    uint64_t epoch = 1;
    size_t length = sizeof epoch;
    return mallctl("epoch", &epoch, &length, &epoch, sizeof epoch) == 0 ? epoch : 0;
}

static inline unsigned
ctl_new_arena(void)
{
    return ctl_unsigned("arenas.create");
}

#endif
