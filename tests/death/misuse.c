/* SPDX-License-Identifier: MIT */
#include "misuse.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MANY 4000 /* more than a thread caches of any class */

/* Functions that not every libc has, by name: from the library under test. */
static void *
function(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL ? found : (abort(), NULL);
}

static void
sized_delete(void *object, size_t size)
{
    ((void (*)(void *, size_t))function("_ZdlPvm"))(object, size);
}

/* Objects of a class, enough to push everything that was freed before out of the thread's cache. */
static void
push_out(size_t size)
{
    void **objects = mmap(NULL, MANY * sizeof *objects, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < MANY; i++) {
        objects[i] = malloc(size);
    }
    for (unsigned i = 0; i < MANY; i++) {
        free(objects[i]);
    }
}

/* Likewise what lies between threads and slabs. */
static void
send_home(void)
{
    malloc_trim(0);
}

/* double free */

/* Of a class that has not earned a magazine yet. */
static void
free_5000_bytes_twice_with_another_class_between(void)
{
    void *object = allocate(5000), *other = malloc(9000);
    free(object);
    free(other);
    free(opaque(object));
}

static void
realloc_5000_bytes_that_are_free(void)
{
    void *object = allocate(5000);
    free(object);
    unseen = realloc(opaque(object), 2500);
}

static void
free_small_twice(void)
{
    void *object = allocate(100);
    free(object);
    free(opaque(object));
}

static void
free_small_again_after_it_left_the_cache(void)
{
    void *object = allocate(100);
    unseen = malloc(100); /* keeps the slab */
    free(object);
    push_out(100);
    free(opaque(object));
    push_out(100);
    send_home();
}

static void
free_small_again_after_a_neighbour(void)
{
    void *object = allocate(1000), *other = malloc(1000);
    free(object);
    free(other);
    free(opaque(object));
    push_out(1000);
    send_home();
}

static void *
end_of_thread(void *object)
{
    void *other = malloc(100);
    free(object);
    free(other);
    free(opaque(object));
    return NULL;
}

static void
free_small_twice_in_a_thread_that_ends(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, end_of_thread, allocate(100));
    pthread_join(thread, NULL);
    malloc_trim(0); /* what the thread kept, another one may have got otherwise */
}

static void
free_twice_without_a_cache(void)
{
    void *object = allocate(100), *kept = malloc(100);
    free(object);
    free(opaque(object));
    free(kept);
}

static void
realloc_small_that_is_free_to_its_own_class(void)
{
    void *object = allocate(100);
    free(object);
    unseen = realloc(opaque(object), 105);
}

static void
realloc_small_that_is_free_to_another_class(void)
{
    void *object = allocate(100);
    free(object);
    unseen = realloc(opaque(object), 1000);
}

static void
realloc_small_and_free_the_old_place(void)
{
    void *object = allocate(100);
    unseen = realloc(object, 500);
    free(opaque(object));
}

/* foreign */

static void
free_the_stack(void)
{
    char local[64] = "";
    unseen = malloc(1);
    misuse_announce(local);
    free(opaque(local));
}

static void
free_static_data(void)
{
    static char data[64];
    unseen = malloc(1);
    misuse_announce(data);
    free(opaque(data));
}

/* mallctl and mallocx by name: only what they do to `free` counts here. */
static void
free_after_its_arena(void)
{
    unsigned arena = 0;
    size_t length = sizeof arena;
    size_t mib[3] = {0}, depth = 3;
    ((int (*)(const char *, void *, size_t *, void *, size_t))function("mallctl"))("arenas.create", &arena, &length,
                                                                                   NULL, 0);
    void *object = ((void *(*)(size_t, int))function("mallocx"))(100, (int)(arena + 1) << 20 | 0x100);
    misuse_announce(object);
    ((int (*)(const char *, size_t *, size_t *))function("mallctlnametomib"))("arena.0.destroy", mib, &depth);
    mib[1] = arena;
    ((int (*)(const size_t *, size_t, void *, size_t *, void *, size_t))function("mallctlbymib"))(mib, depth, NULL,
                                                                                                  NULL, NULL, 0);
    free(opaque(object));
}

static void
free_a_literal(void)
{
    const char *literal = "text";
    unseen = malloc(1);
    misuse_announce(literal);
    free(opaque((void *)(uintptr_t)literal));
}

static void
free_a_mapping(void)
{
    char *mapping = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unseen = malloc(1);
    misuse_announce(mapping + 4096);
    free(opaque(mapping + 4096));
}

static void
free_a_small_number(void)
{
    unseen = malloc(1);
    misuse_announce((void *)(uintptr_t)0x1234);
    free(opaque((void *)(uintptr_t)0x1234));
}

static void
realloc_a_mapping(void)
{
    char *mapping = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unseen = malloc(1);
    misuse_announce(mapping);
    unseen = realloc(opaque(mapping), 100);
}

static void
delete_the_stack(void)
{
    char local[64] = "";
    unseen = malloc(1);
    misuse_announce(local);
    ((void (*)(void *))function("_ZdlPv"))(opaque(local));
}

/* interior */

static void
free_inside_a_small_object(void)
{
    char *object = malloc(1000);
    misuse_announce(object + 16);
    misuse_announce(object);
    free(opaque(object + 16));
    push_out(1000);
    send_home();
}

/* Between the last region and the end of a slab of the class of 48 bytes there is room for no other. */
static void
free_the_tail_of_a_slab(void)
{
    char *object = malloc(48), *slab = (char *)((uintptr_t)object & ~(uintptr_t)0x3fff);
    misuse_announce(slab + 16384 - 8);
    free(opaque(slab + 16384 - 8));
    push_out(48);
    send_home();
}

/* wrong size */

static void
delete_small_with_the_wrong_size(void)
{
    sized_delete(allocate(100), 200);
}

static void
delete_large_with_the_wrong_size(void)
{
    sized_delete(allocate(100000), 100);
}

static void
delete_small_with_the_size_of_a_large(void)
{
    sized_delete(allocate(100), 100000);
}

static void
free_sized_with_the_wrong_size(void)
{
    ((void (*)(void *, size_t))function("free_sized"))(allocate(1000), 1025);
}

static void
free_aligned_sized_with_the_wrong_size(void)
{
    void *object = aligned_alloc(64, 200);
    misuse_announce(object);
    ((void (*)(void *, size_t, size_t))function("free_aligned_sized"))(object, 64, 300);
}

/* jemalloc's functions */

#define NO_CACHE 0x100

static void
dallocx_with(void *object, int flags)
{
    ((void (*)(void *, int))function("dallocx"))(opaque(object), flags);
}

static void
dallocx_twice_past_the_caches(void)
{
    void *object = allocate(100), *kept = malloc(100);
    dallocx_with(object, NO_CACHE);
    dallocx_with(object, NO_CACHE);
    free(kept);
}

static void
dallocx_twice_into_an_explicit_cache(void)
{
    unsigned number;
    size_t length = sizeof number;
    void *object = allocate(100);
    ((int (*)(const char *, void *, size_t *, void *, size_t))function("mallctl"))("tcache.create", &number, &length,
                                                                                   NULL, 0);
    dallocx_with(object, (int)(number + 2) << 8);
    dallocx_with(object, (int)(number + 2) << 8);
}

static void
dallocx_the_stack(void)
{
    char local[64] = "";
    unseen = malloc(1);
    misuse_announce(local);
    dallocx_with(local, NO_CACHE);
}

static void
sdallocx_with_the_wrong_size(void)
{
    ((void (*)(void *, size_t, int))function("sdallocx"))(allocate(100), 200, NO_CACHE);
}

static void
mallocx_too_much(void)
{
    unseen = ((void *(*)(size_t, int))function("mallocx"))((size_t)1 << 60, NO_CACHE);
}

/* alignment */

static char *
not_aligned_to_4096(void)
{
    char *object = malloc(64);
    while (((uintptr_t)object & 4095) == 0) {
        object = malloc(64);
    }
    misuse_announce(object);
    return object;
}

static void
free_aligned_sized_with_the_wrong_alignment(void)
{
    ((void (*)(void *, size_t, size_t))function("free_aligned_sized"))(not_aligned_to_4096(), 4096, 64);
}

static void
delete_with_the_wrong_alignment(void)
{
    ((void (*)(void *, size_t, size_t))function("_ZdlPvmSt11align_val_t"))(not_aligned_to_4096(), 64, 4096);
}

static void
free_aligned_sized_with_an_impossible_alignment(void)
{
    ((void (*)(void *, size_t, size_t))function("free_aligned_sized"))(allocate(64), 24, 64);
}

/* settings */

static void
allocate_too_much(void)
{
    unseen = malloc((size_t)1 << 60);
}

static void
new_too_much(void)
{
    unseen = ((void *(*)(size_t))function("_Znwm"))((size_t)1 << 60);
}

static void
allocate_too_many(void)
{
    static volatile size_t count = (size_t)1 << 40;
    unseen = calloc(count, count);
}

static void
realloc_too_much(void)
{
    unseen = realloc(malloc(100), (size_t)1 << 60);
}

static void
align_too_much(void)
{
    unseen = aligned_alloc(4096, (size_t)1 << 60);
}

static void
realloc_to_nothing(void)
{
    unseen = realloc(allocate(100), 0);
}

static void
allocate_something(void)
{
    unseen = malloc(1);
}

static void
begin_without_memory(void)
{
    setrlimit(RLIMIT_AS, &(struct rlimit){4096, 4096});
    unseen = malloc(1);
}

const struct misuse misuses[] = {
    {"free_small_twice", free_small_twice, NULL, FREE "double free: the 112-byte object at %0 is free already"},
    {"free_small_again_after_it_left_the_cache", free_small_again_after_it_left_the_cache, NULL,
     FREE "double free: the 112-byte object at %0 is free already"},
    {"free_5000_bytes_twice_with_another_class_between", free_5000_bytes_twice_with_another_class_between, QUIET,
     FREE "double free: the 5120-byte object at %0 is free already"},
    {"realloc_5000_bytes_that_are_free", realloc_5000_bytes_that_are_free, QUIET,
     "<hew>: realloc(%0): not a live allocation: the 5120-byte object at %0 is free already"},
    {"free_small_again_after_a_neighbour", free_small_again_after_a_neighbour, NULL,
     FREE "double free: the 1024-byte object at %0 is free already"},
    {"free_small_twice_in_a_thread_that_ends", free_small_twice_in_a_thread_that_ends, NULL,
     FREE "double free: the 112-byte object at %0 is free already"},
    {"free_twice_without_a_cache", free_twice_without_a_cache, "tcache:false",
     FREE "double free: the 112-byte object at %0 is free already"},
    {"realloc_small_that_is_free_to_its_own_class", realloc_small_that_is_free_to_its_own_class, NULL,
     "<hew>: realloc(%0): not a live allocation: the 112-byte object at %0 is free already"},
    {"realloc_small_that_is_free_to_another_class", realloc_small_that_is_free_to_another_class, NULL,
     "<hew>: realloc(%0): not a live allocation: the 112-byte object at %0 is free already"},
    {"realloc_small_and_free_the_old_place", realloc_small_and_free_the_old_place, NULL,
     FREE "double free: the 112-byte object at %0 is free already"},
    {"free_the_stack", free_the_stack, NULL, FREE FOREIGN},
    {"free_static_data", free_static_data, NULL, FREE FOREIGN},
    {"free_a_literal", free_a_literal, NULL, FREE FOREIGN},
    {"free_after_its_arena", free_after_its_arena, QUIET,
     FREE
     "not memory that hew gave out: an arena's that was destroyed, the stack, static data, or another allocator's"},
    {"free_a_mapping", free_a_mapping, NULL, FREE FOREIGN},
    {"free_a_small_number", free_a_small_number, NULL, FREE FOREIGN},
    {"realloc_a_mapping", realloc_a_mapping, NULL, "<hew>: realloc(%0): " FOREIGN},
    {"delete_the_stack", delete_the_stack, NULL, "<hew>: operator delete(%0): " FOREIGN},
    {"free_inside_a_small_object", free_inside_a_small_object, NULL, FREE INSIDE "1024-byte object at %1"},
    {"free_the_tail_of_a_slab", free_the_tail_of_a_slab, NULL,
     FREE "points inside an allocation: in the unused tail of a slab"},
    {"delete_small_with_the_wrong_size", delete_small_with_the_wrong_size, NULL,
     "<hew>: operator delete(%0): " SIZE "200 bytes, the object has room for 112"},
    {"delete_large_with_the_wrong_size", delete_large_with_the_wrong_size, NULL,
     "<hew>: operator delete(%0): " SIZE "100 bytes, the object has room for 114688"},
    {"delete_small_with_the_size_of_a_large", delete_small_with_the_size_of_a_large, NULL,
     "<hew>: operator delete(%0): " SIZE "100000 bytes, the object has room for 112"},
    {"free_sized_with_the_wrong_size", free_sized_with_the_wrong_size, NULL,
     "<hew>: free_sized(%0): " SIZE "1025 bytes, the object has room for 1024"},
    {"free_aligned_sized_with_the_wrong_size", free_aligned_sized_with_the_wrong_size, NULL,
     "<hew>: free_aligned_sized(%0): " SIZE "300 bytes, the object has room for 256"},
    {"free_aligned_sized_with_the_wrong_alignment", free_aligned_sized_with_the_wrong_alignment, NULL,
     "<hew>: free_aligned_sized(%0): freed with the wrong alignment"},
    {"delete_with_the_wrong_alignment", delete_with_the_wrong_alignment, NULL,
     "<hew>: operator delete(%0): freed with the wrong alignment"},
    {"free_aligned_sized_with_an_impossible_alignment", free_aligned_sized_with_an_impossible_alignment, NULL,
     "<hew>: free_aligned_sized(%0): alignment is not a power of two"},
    {"dallocx_twice_past_the_caches", dallocx_twice_past_the_caches, NULL,
     FREE "double free: the 112-byte object at %0 is free already"},
    {"dallocx_twice_into_an_explicit_cache", dallocx_twice_into_an_explicit_cache, NULL,
     "<hew>: dallocx(%0): double free: the 112-byte object at %0 is free already"},
    {"dallocx_the_stack", dallocx_the_stack, NULL, "<hew>: dallocx(%0): " FOREIGN},
    {"sdallocx_with_the_wrong_size", sdallocx_with_the_wrong_size, NULL,
     "<hew>: sdallocx(%0): " SIZE "200 bytes, the object has room for 112"},
    {"mallocx_too_much", mallocx_too_much, "xmalloc:true", "<hew>: mallocx(): out of memory with xmalloc:true"},
    {"allocate_too_much", allocate_too_much, "xmalloc:true", "<hew>: malloc(): out of memory with xmalloc:true"},
    {"new_too_much", new_too_much, "experimental_infallible_new:true",
     "<hew>: operator new(): out of memory with experimental_infallible_new:true: Allocation of size "
     "1152921504606846976 "
     "failed. The heap may be corrupted, if the large size is unexpected."},
    {"allocate_too_many", allocate_too_many, "xmalloc:true", "<hew>: calloc(): out of memory with xmalloc:true"},
    {"realloc_too_much", realloc_too_much, "xmalloc:true", "<hew>: realloc(): out of memory with xmalloc:true"},
    {"align_too_much", align_too_much, "xmalloc:true", "<hew>: aligned_alloc(): out of memory with xmalloc:true"},
    {"realloc_to_nothing", realloc_to_nothing, "zero_realloc:abort",
     "<hew>: realloc(%0): realloc to size 0 with zero_realloc:abort"},
    {"bad_settings", allocate_something, "abort_conf:true,narenas:few",
     "<hew>: malloc(): bad settings with abort_conf:true"},
    {"begin_without_memory", begin_without_memory, NULL,
     "<hew>: malloc(): the system gave no memory for the address map"},
    {NULL, NULL, NULL, NULL},
};
