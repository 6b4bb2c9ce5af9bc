// SPDX-License-Identifier: MIT
#define COMPAT(name) name
#include "header_all.h"

// How RocksDB and Folly find out whether jemalloc is there: their own declarations beside the header's.
extern "C" {
void *mallocx(size_t, int) __attribute__((__weak__));
void *rallocx(void *, size_t, int) __attribute__((__weak__));
size_t xallocx(void *, size_t, size_t, int) __attribute__((__weak__));
size_t sallocx(const void *, int) __attribute__((__weak__));
void dallocx(void *, int) __attribute__((__weak__));
void sdallocx(void *, size_t, int) __attribute__((__weak__));
size_t nallocx(size_t, int) __attribute__((__weak__));
int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((__weak__));
int mallctlnametomib(const char *, size_t *, size_t *) __attribute__((__weak__));
int mallctlbymib(const size_t *, size_t, void *, size_t *, void *, size_t) __attribute__((__weak__));
void malloc_stats_print(void (*)(void *, const char *), void *, const char *) __attribute__((__weak__));
size_t malloc_usable_size(JEMALLOC_USABLE_SIZE_CONST void *) JEMALLOC_CXX_THROW __attribute__((__weak__));
}

static_assert(MALLOCX_ARENA(1) == 0x200000, "a constant expression in C++ as well");
