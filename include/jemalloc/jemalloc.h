/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's interface, version 5.3.1, as hew provides it.  A program written for jemalloc compiles with this header
 * and links with -lhew, or with hew installed as libjemalloc.  jemalloc's manual describes the functions;
 * docs/compatibility.md lists the differences.
 *
 * Names.  In a library built with a prefix (-DHEW_PREFIX=je_) the installed copy of this header declares je_malloc and
 * so on.  As in jemalloc's own header:
 *     JEMALLOC_NO_DEMANGLE   keeps je_malloc, je_mallocx ... as aliases of the real names
 *     JEMALLOC_MANGLE        maps the plain names malloc, mallocx ... to the prefixed functions
 *     JEMALLOC_NO_RENAME     declares je_malloc ... literally
 */
#ifndef JEMALLOC_H_
#define JEMALLOC_H_

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#define JEMALLOC_VERSION "5.3.1-0-ghew0.1.0"
#define JEMALLOC_VERSION_MAJOR 5
#define JEMALLOC_VERSION_MINOR 3
#define JEMALLOC_VERSION_BUGFIX 1
#define JEMALLOC_VERSION_NREV 0
#define JEMALLOC_VERSION_GID "hew0.1.0"
#define JEMALLOC_VERSION_GID_IDENT hew

/* The bits of the flags argument: (arena + 1) << 20 | (cache + 2) << 8 | zero 0x40 | log2 of the alignment. */
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#define MALLOCX_ALIGN(a) ((int)(__builtin_ffsll((long long)(a)) - 1))
#define MALLOCX_ZERO ((int)0x40)
#define MALLOCX_TCACHE(tc) ((int)(((unsigned)(tc) + 2u) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(a) ((int)(((unsigned)(a) + 1u) << 20))

/* Indexes in names such as "arena.4096.purge": all arenas, and all destroyed arenas.  Plain numbers, for the
 * preprocessor's #. */
#define MALLCTL_ARENAS_ALL 4096
#define MALLCTL_ARENAS_DESTROYED 4097

/* Redis tests this macro to know that je_get_defrag_hint() exists. */
#define JEMALLOC_FRAG_HINT

/* Results of jemalloc's configure, which some programs test. */
#define JEMALLOC_HAVE_ATTR
#define JEMALLOC_HAVE_ATTR_ALLOC_SIZE
#define JEMALLOC_HAVE_ATTR_COLD
#define JEMALLOC_HAVE_ATTR_FALLTHROUGH
#define JEMALLOC_HAVE_ATTR_FORMAT_ARG
#define JEMALLOC_HAVE_ATTR_FORMAT_GNU_PRINTF
#define JEMALLOC_HAVE_ATTR_FORMAT_PRINTF
#define JEMALLOC_OVERRIDE_MEMALIGN
#define JEMALLOC_OVERRIDE_PVALLOC
#define JEMALLOC_OVERRIDE_VALLOC
#define JEMALLOC_USE_CXX_THROW
#define JEMALLOC_USABLE_SIZE_CONST /* glibc's malloc_usable_size takes void * */
#define LG_SIZEOF_PTR 3

#define JEMALLOC_ATTR(attribute) __attribute__((attribute))
#define JEMALLOC_ALIGNED(bytes) JEMALLOC_ATTR(aligned(bytes))
#define JEMALLOC_ALLOC_SIZE(size) JEMALLOC_ATTR(alloc_size(size))
#define JEMALLOC_ALLOC_SIZE2(count, size) JEMALLOC_ATTR(alloc_size(count, size))
#define JEMALLOC_ALLOCATOR
#define JEMALLOC_COLD JEMALLOC_ATTR(__cold__)
#ifndef JEMALLOC_EXPORT
#define JEMALLOC_EXPORT JEMALLOC_ATTR(visibility("default"))
#endif
#define JEMALLOC_FALLTHROUGH JEMALLOC_ATTR(fallthrough)
#define JEMALLOC_FORMAT_ARG(i) JEMALLOC_ATTR(__format_arg__(i))
#define JEMALLOC_FORMAT_PRINTF(format_index, first) JEMALLOC_ATTR(format(printf, format_index, first))
#define JEMALLOC_NOINLINE JEMALLOC_ATTR(noinline)
#define JEMALLOC_NOTHROW JEMALLOC_ATTR(nothrow)
#define JEMALLOC_RESTRICT_RETURN
#define JEMALLOC_SECTION(name) JEMALLOC_ATTR(section(name))
#define JEMALLOC_SYS_NOTHROW JEMALLOC_NOTHROW
#ifdef __cplusplus
#define JEMALLOC_CXX_THROW noexcept
#else
#define JEMALLOC_CXX_THROW
#endif

#ifndef JEMALLOC_NO_RENAME
#define je_aligned_alloc aligned_alloc
#define je_calloc calloc
#define je_dallocx dallocx
#define je_free free
#define je_free_aligned_sized free_aligned_sized
#define je_free_sized free_sized
#define je_mallctl mallctl
#define je_mallctlbymib mallctlbymib
#define je_mallctlnametomib mallctlnametomib
#define je_malloc malloc
#define je_malloc_conf malloc_conf
#define je_malloc_conf_2_conf_harder malloc_conf_2_conf_harder
#define je_malloc_message malloc_message
#define je_malloc_stats_print malloc_stats_print
#define je_malloc_usable_size malloc_usable_size
#define je_mallocx mallocx
#define je_memalign memalign
#define je_nallocx nallocx
#define je_posix_memalign posix_memalign
#define je_pvalloc pvalloc
#define je_rallocx rallocx
#define je_realloc realloc
#define je_sallocx sallocx
#define je_sdallocx sdallocx
#define je_valloc valloc
#define je_xallocx xallocx
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A program may define these two itself. */
extern JEMALLOC_EXPORT const char *je_malloc_conf;
extern JEMALLOC_EXPORT const char *je_malloc_conf_2_conf_harder;
/* Receives text for people: warnings, and statistics printed without a function of their own.  NULL: stderr. */
extern JEMALLOC_EXPORT void (*je_malloc_message)(void *context, const char *text);

JEMALLOC_EXPORT void *je_malloc(size_t size) JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc)
    JEMALLOC_ALLOC_SIZE(1) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void *je_calloc(size_t count, size_t size) JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc)
    JEMALLOC_ALLOC_SIZE2(1, 2) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT int je_posix_memalign(void **result, size_t alignment, size_t size) JEMALLOC_CXX_THROW
    JEMALLOC_ATTR(nonnull(1)) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void *je_aligned_alloc(size_t alignment, size_t size) JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc)
    JEMALLOC_ALLOC_SIZE(2) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void *je_realloc(void *object, size_t size) JEMALLOC_CXX_THROW JEMALLOC_ALLOC_SIZE(2) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void je_free(void *object) JEMALLOC_CXX_THROW JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void je_free_sized(void *object, size_t size) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void je_free_aligned_sized(void *object, size_t alignment, size_t size) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void *je_memalign(size_t alignment, size_t size) JEMALLOC_CXX_THROW
    JEMALLOC_ATTR(malloc) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void *je_valloc(size_t size) JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void *je_pvalloc(size_t size) JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT size_t je_malloc_usable_size(JEMALLOC_USABLE_SIZE_CONST void *object)
    JEMALLOC_CXX_THROW JEMALLOC_NOTHROW;

JEMALLOC_EXPORT void *je_mallocx(size_t size, int flags) JEMALLOC_ATTR(malloc) JEMALLOC_ALLOC_SIZE(1) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void *je_rallocx(void *object, size_t size, int flags) JEMALLOC_ALLOC_SIZE(2) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT size_t je_xallocx(void *object, size_t size, size_t extra, int flags) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT size_t je_sallocx(const void *object, int flags) JEMALLOC_ATTR(pure) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void je_dallocx(void *object, int flags) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void je_sdallocx(void *object, size_t size, int flags) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT size_t je_nallocx(size_t size, int flags) JEMALLOC_ATTR(pure) JEMALLOC_NOTHROW;

JEMALLOC_EXPORT int je_mallctl(const char *name, void *old, size_t *old_length, void *new_value,
                               size_t new_length) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT int je_mallctlnametomib(const char *name, size_t *mib, size_t *depth) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT int je_mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new_value,
                                    size_t new_length) JEMALLOC_NOTHROW;
JEMALLOC_EXPORT void je_malloc_stats_print(void (*write)(void *context, const char *text), void *context,
                                           const char *letters) JEMALLOC_NOTHROW;

/* Returns whether moving this object would help to return memory; Redis calls it.  The name is the same in every build
 * whose prefix is empty or je_. */
JEMALLOC_EXPORT int je_get_defrag_hint(void *object) JEMALLOC_NOTHROW;

/*
 * The functions that map memory for an arena: mallctl "arena.<i>.extent_hooks" and "arenas.create".  alloc returns NULL
 * on failure; the others return true if they failed or declined.  `arena` is the arena's index.
 */
typedef struct extent_hooks_s extent_hooks_t;
typedef void *(extent_alloc_t)(extent_hooks_t *hooks, void *address, size_t size, size_t alignment, bool *zero,
                               bool *commit, unsigned arena);
typedef bool(extent_dalloc_t)(extent_hooks_t *hooks, void *address, size_t size, bool committed, unsigned arena);
typedef void(extent_destroy_t)(extent_hooks_t *hooks, void *address, size_t size, bool committed, unsigned arena);
typedef bool(extent_commit_t)(extent_hooks_t *hooks, void *address, size_t size, size_t offset, size_t length,
                              unsigned arena);
typedef bool(extent_decommit_t)(extent_hooks_t *hooks, void *address, size_t size, size_t offset, size_t length,
                                unsigned arena);
typedef bool(extent_purge_t)(extent_hooks_t *hooks, void *address, size_t size, size_t offset, size_t length,
                             unsigned arena);
typedef bool(extent_split_t)(extent_hooks_t *hooks, void *address, size_t size, size_t first, size_t second,
                             bool committed, unsigned arena);
typedef bool(extent_merge_t)(extent_hooks_t *hooks, void *first, size_t first_size, void *second, size_t second_size,
                             bool committed, unsigned arena);

struct extent_hooks_s {
    extent_alloc_t *alloc;
    extent_dalloc_t *dalloc;
    extent_destroy_t *destroy;
    extent_commit_t *commit;
    extent_decommit_t *decommit;
    extent_purge_t *purge_lazy;
    extent_purge_t *purge_forced;
    extent_split_t *split;
    extent_merge_t *merge;
};

#ifdef __cplusplus
}
#endif

#ifdef JEMALLOC_MANGLE
#ifndef JEMALLOC_NO_DEMANGLE
#define JEMALLOC_NO_DEMANGLE
#endif
#define aligned_alloc je_aligned_alloc
#define calloc je_calloc
#define dallocx je_dallocx
#define free je_free
#define free_aligned_sized je_free_aligned_sized
#define free_sized je_free_sized
#define mallctl je_mallctl
#define mallctlbymib je_mallctlbymib
#define mallctlnametomib je_mallctlnametomib
#define malloc je_malloc
#define malloc_conf je_malloc_conf
#define malloc_conf_2_conf_harder je_malloc_conf_2_conf_harder
#define malloc_message je_malloc_message
#define malloc_stats_print je_malloc_stats_print
#define malloc_usable_size je_malloc_usable_size
#define mallocx je_mallocx
#define memalign je_memalign
#define nallocx je_nallocx
#define posix_memalign je_posix_memalign
#define pvalloc je_pvalloc
#define rallocx je_rallocx
#define realloc je_realloc
#define sallocx je_sallocx
#define sdallocx je_sdallocx
#define valloc je_valloc
#define xallocx je_xallocx
#endif

#ifndef JEMALLOC_NO_DEMANGLE
#undef je_aligned_alloc
#undef je_calloc
#undef je_dallocx
#undef je_free
#undef je_free_aligned_sized
#undef je_free_sized
#undef je_mallctl
#undef je_mallctlbymib
#undef je_mallctlnametomib
#undef je_malloc
#undef je_malloc_conf
#undef je_malloc_conf_2_conf_harder
#undef je_malloc_message
#undef je_malloc_stats_print
#undef je_malloc_usable_size
#undef je_mallocx
#undef je_memalign
#undef je_nallocx
#undef je_posix_memalign
#undef je_pvalloc
#undef je_rallocx
#undef je_realloc
#undef je_sallocx
#undef je_sdallocx
#undef je_valloc
#undef je_xallocx
#endif

#endif
