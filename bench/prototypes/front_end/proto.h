/* SPDX-License-Identifier: MIT */
/*
 * proto: what a workload may call.  Each front end (array, chain, pages) is a shared library that defines these, so
 * that the call goes through the PLT exactly as a call of a preloaded malloc does.
 *
 * Not a drop-in: sizes up to PROTO_SMALL_MAX only, and a thread says itself when it ends.
 */
#ifndef PROTO_H
#define PROTO_H

#include <stddef.h>

#define PROTO_SMALL_MAX 14336

#define PROTO_API __attribute__((visibility("default")))

PROTO_API void *proto_malloc(size_t size);
PROTO_API void proto_free(void *object);

/* Gives up this thread's cache (array, chain) or leaves its heap to the next thread (pages). */
PROTO_API void proto_thread_exit(void);

/* Returns what depots hold to the slabs and every page that no slab uses to the system. */
PROTO_API void proto_purge(void);

/* KiB of pages that slabs hold now: live objects, what caches pin, and fragmentation. */
PROTO_API size_t proto_slab_kib(void);

#endif
