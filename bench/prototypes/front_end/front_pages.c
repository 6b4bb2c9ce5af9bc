/* SPDX-License-Identifier: MIT */
/*
 * front_pages: page-local free lists (candidate C), after the published designs of mimalloc and snmalloc.
 *
 * A heap (one per thread) owns slabs.  A slab has two intrusive lists that only its owner touches: `free` (malloc pops)
 * and `local` (free pushes; becomes `free` when that is used up).  Another thread pushes onto the slab's `remote` list
 * with a compare-and-swap; the first such push also queues the slab on its heap's `pending` stack, and the heap
 * collects queued slabs when a class has nothing left, never otherwise, so a slab is queued at most once.
 *
 * Per class: one current slab and a list of others with something free; full slabs are in no list until something of
 * theirs is freed.  FULL is folded into the owner word, so that one compare in free covers "remote" and "full".
 * `allocated` and `freed` only grow: they give the slab's use count and exact statistics without a further counter.
 *
 * A thread that ends leaves its heap, whole, to the next thread.
 */
#include "pages.h"

#define FULL 1
#define CARVE_BYTES 4096

struct slab {
    uintptr_t owner; /* heap, or heap + FULL */
    void *free;
    void *local;
    uint32_t allocated;
    uint32_t freed;
    uintptr_t base;
    struct slab *next;
    struct slab *previous;
    uint16_t carved;
    uint16_t class;
    _Atomic(void *) remote __attribute__((aligned(64)));
    struct slab *pending_next;
};

struct heap {
    struct slab *current[CLASSES];
    struct slab *first[CLASSES];
    struct slab *last[CLASSES];
    _Atomic(struct slab *) pending __attribute__((aligned(64)));
    struct heap *next_orphan;
};

static struct slab no_slab; /* current slab of a class without one; also what the table says for pages of no slab */
static struct heap no_heap = {.current = {[0 ... CLASSES - 1] = &no_slab}};
static __thread struct heap *self = &no_heap;
static pthread_mutex_t orphans_lock = PTHREAD_MUTEX_INITIALIZER;
static struct heap *orphans;

static __attribute__((constructor)) void
boot(void)
{
    pages_boot(&no_slab);
}

static struct heap *
heap_birth(void)
{
    pthread_mutex_lock(&orphans_lock);
    struct heap *heap = orphans;
    if (heap != NULL) {
        orphans = heap->next_orphan;
    }
    pthread_mutex_unlock(&orphans_lock);
    if (heap == NULL) {
        heap = meta_take(sizeof *heap);
        *heap = no_heap;
    }
    self = heap;
    return heap;
}

static void
list_append(struct heap *heap, struct slab *slab)
{
    unsigned class = slab->class;
    slab->next = NULL;
    slab->previous = heap->last[class];
    *(heap->last[class] != NULL ? &heap->last[class]->next : &heap->first[class]) = slab;
    heap->last[class] = slab;
}

static void
list_remove(struct heap *heap, struct slab *slab)
{
    *(slab->previous != NULL ? &slab->previous->next : &heap->first[slab->class]) = slab->next;
    *(slab->next != NULL ? &slab->next->previous : &heap->last[slab->class]) = slab->previous;
}

static struct slab *
slab_birth(struct heap *heap, unsigned class)
{
    struct slab *slab = meta_take(sizeof *slab);
    *slab = (struct slab){.owner = (uintptr_t)heap, .class = (uint16_t)class};
    slab->base = pages_take(classes[class].order, class, slab);
    return slab;
}

static void
slab_death(struct slab *slab)
{
    pages_give(slab->base, classes[slab->class].order);
    meta_give(slab, sizeof *slab);
}

/* After objects came back: a full slab joins the list again; one without live objects is given up unless current. */
static void
slab_settle(struct heap *heap, struct slab *slab)
{
    if (slab == heap->current[slab->class]) {
        return;
    }
    if (slab->owner & FULL) {
        slab->owner &= ~(uintptr_t)FULL;
        list_append(heap, slab);
    }
    if (slab->allocated == slab->freed) {
        list_remove(heap, slab);
        slab_death(slab);
    }
}

static void
heap_collect(struct heap *heap)
{
    struct slab *slab = atomic_exchange_explicit(&heap->pending, NULL, memory_order_acquire);
    while (slab != NULL) {
        struct slab *next = slab->pending_next; /* read before remote is emptied: then it may be queued again */
        void *object = atomic_exchange_explicit(&slab->remote, NULL, memory_order_acquire);
        while (object != NULL) {
            void *after = *(void **)object;
            *(void **)object = slab->local;
            slab->local = object;
            slab->freed++;
            object = after;
        }
        slab_settle(heap, slab);
        slab = next;
    }
}

/* Makes slab->free non-empty if the slab has anything left: what was freed, or up to 4 KiB never used before. */
static int
slab_refill(struct slab *slab)
{
    const struct class_info *info = &classes[slab->class];
    slab->free = slab->local;
    slab->local = NULL;
    if (slab->free == NULL && slab->carved < info->regions) {
        uint32_t count = CARVE_BYTES / info->size > 1 ? CARVE_BYTES / info->size : 1;
        count = count < info->regions - slab->carved ? count : info->regions - slab->carved;
        for (uint32_t region = slab->carved + count; region-- > slab->carved;) {
            void **object = (void **)(slab->base + (size_t)region * info->size);
            *object = slab->free;
            slab->free = object;
        }
        slab->carved = (uint16_t)(slab->carved + count);
    }
    return slab->free != NULL;
}

static __attribute__((noinline)) void *
malloc_slow(size_t size, unsigned class)
{
    if (size > PROTO_SMALL_MAX) {
        die("size out of the prototype's range");
    }
    struct heap *heap = self == &no_heap ? heap_birth() : self;
    struct slab *slab = heap->current[class];
    while (slab == &no_slab || !slab_refill(slab)) {
        if (slab != &no_slab) {
            slab->owner |= FULL;
        }
        heap->current[class] = &no_slab;
        if (heap->first[class] == NULL) {
            heap_collect(heap);
        }
        slab = heap->first[class];
        if (slab != NULL) {
            list_remove(heap, slab);
        } else {
            slab = slab_birth(heap, class);
        }
        heap->current[class] = slab;
    }
    void *object = slab->free;
    slab->free = *(void **)object;
    slab->allocated++;
    return object;
}

void *
proto_malloc(size_t size)
{
    if (unlikely(size > PROTO_SMALL_MAX)) {
        return malloc_slow(size, 0);
    }
    unsigned class = class_of[(size + 7) >> 3];
    struct slab *slab = self->current[class];
    void *object = slab->free;
    if (unlikely(object == NULL)) {
        return malloc_slow(size, class);
    }
    slab->allocated++;
    slab->free = *(void **)object;
    return object;
}

static void
free_remote(struct heap *owner, struct slab *slab, void *object)
{
    void *old = atomic_load_explicit(&slab->remote, memory_order_relaxed);
    do {
        *(void **)object = old;
    } while (!atomic_compare_exchange_weak_explicit(&slab->remote, &old, object, memory_order_release,
                                                    memory_order_relaxed));
    if (old == NULL) {
        struct slab *head = atomic_load_explicit(&owner->pending, memory_order_relaxed);
        do {
            slab->pending_next = head;
        } while (!atomic_compare_exchange_weak_explicit(&owner->pending, &head, slab, memory_order_release,
                                                        memory_order_relaxed));
    }
}

static __attribute__((noinline)) void
free_slow(void *object, struct slab *slab)
{
    if (object == NULL) {
        return;
    }
    if (slab == NULL || slab == &no_slab) {
        die("free of a foreign pointer");
    }
    struct heap *owner = (struct heap *)(__atomic_load_n(&slab->owner, __ATOMIC_RELAXED) & ~(uintptr_t)FULL);
    if (owner != self) {
        free_remote(owner, slab, object);
        return;
    }
    if (slab->owner & FULL) {
        *(void **)object = slab->local;
        slab->local = object;
        slab->freed++;
    }
    slab_settle(owner, slab);
}

/* Three rare cases leave: an address outside of the heap, another owner or a full slab, the slab's last object. */
void
proto_free(void *object)
{
    size_t page = page_of(object);
    if (unlikely(page >= heap_fresh)) {
        free_slow(object, NULL);
        return;
    }
    struct slab *slab = page_slab[page];
    if (unlikely(slab->owner != (uintptr_t)self)) {
        free_slow(object, slab);
        return;
    }
    *(void **)object = slab->local;
    slab->local = object;
    if (unlikely(++slab->freed == slab->allocated)) {
        free_slow(object, slab);
    }
}

void
proto_thread_exit(void)
{
    struct heap *heap = self;
    if (heap == &no_heap) {
        return;
    }
    heap_collect(heap);
    pthread_mutex_lock(&orphans_lock);
    heap->next_orphan = orphans;
    orphans = heap;
    pthread_mutex_unlock(&orphans_lock);
    self = &no_heap;
}

void
proto_purge(void)
{
    if (self != &no_heap) {
        heap_collect(self);
    }
    pages_purge();
}
