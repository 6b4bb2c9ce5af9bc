/* SPDX-License-Identifier: MIT */
/*
 * bin: moves objects between batches and slabs.  A whole batch is handled under one lock.  Slabs come from the page
 * heap, and return there, without that lock, so that no thread that wants an object waits for the system.
 */
#include "slab/bin.h"

#include "meta/map.h"
#include "os/memory.h"
#include "page/bound.h"
#include "slab/arena.h"
#include "slab/mark.h"
#include "slab/reserve.h"

#include <string.h>

#define OPENS_FINE 8 /* slabs of a coarse class, and at least one per thread, that justify a finer class */
#define AHEAD 8      /* distance, in objects, of the slab prefetch */
#define DUE_SLABS 64 /* slabs with free regions (1 MiB or more) from which on a check whether they stay idle is due */
#define EMPTY_AT_ONCE 16 /* wholly free slabs to collect before they return to the page heap */

struct empties {
    unsigned code;  /* of every object that the bin frees */
    uint32_t owner; /* of their slabs */
    unsigned count;
    struct hew_extent *slab[EMPTY_AT_ONCE + 1]; /* and the former current one */
};

static struct hew_extent *
slab_of(struct hew_heap_node *node)
{
    return node == NULL ? NULL : HEW_CONTAINER(node, struct hew_extent, slab.node);
}

static void
enqueue(struct hew_bin *bin, struct hew_extent *slab)
{
    HEW_ASSERT(1, !slab->slab.queued && slab->slab.free_regions != 0 && slab != bin->current);
    hew_heap_insert(&bin->nonfull, &slab->slab.node, hew_hole_key(slab));
    slab->slab.queued = true;
    bin->counts.nonfull++;
}

static void
dequeue(struct hew_bin *bin, struct hew_extent *slab)
{
    HEW_ASSERT(1, slab->slab.queued && bin->counts.nonfull != 0);
    if (HEW_UNLIKELY(bin->walk.at == &slab->slab.node)) {
        hew_heap_walk_step(&bin->walk);
    }
    hew_heap_remove(&bin->nonfull, &slab->slab.node);
    slab->slab.queued = false;
    bin->counts.nonfull--;
}

void
hew_bin_list_full(struct hew_bin *bin)
{
    hew_list_begin(&bin->full);
}

static bool
lists_full(const struct hew_bin *bin)
{
    return HEW_UNLIKELY(bin->full.next != NULL);
}

/* The current slab, if any, is about to be replaced. */
static void
retire_current(struct hew_bin *bin)
{
    if (lists_full(bin) && bin->current != NULL) {
        hew_list_push_back(&bin->full, &bin->current->slab.full);
    }
}

/* Lock held.  This many more bytes of the bin's slabs have no memory (or fewer, if negative).  A memory limit counts
 * only bytes with memory. */
static HEW_NOINLINE void
change_holes(struct hew_bin *bin, ptrdiff_t bytes)
{
    bin->counts.holes += (size_t)bytes;
    if (hew_page_is_bounded()) {
        hew_page_bound_count(-bytes);
    }
}

static HEW_NOINLINE void
count_holes_out(struct hew_bin *bin, struct hew_extent *slab)
{
    HEW_ASSERT(1, bin->counts.holes >= hew_hole_bytes(slab, slab->slab.absent));
    change_holes(bin, -(ptrdiff_t)hew_hole_bytes(slab, slab->slab.absent));
    slab->slab.absent = 0;
}

/* Lock held.  A slab leaves the bin, so its holes no longer count. */
static void
forget_holes(struct hew_bin *bin, struct hew_extent *slab)
{
    if (HEW_UNLIKELY(slab->slab.absent != 0)) {
        count_holes_out(bin, slab);
    }
}

/* Without the lock.  Makes a new slab, or returns NULL. */
static struct hew_extent *
new_slab(const struct hew_page_client *pages, unsigned code)
{
    struct hew_extent *slab = HEW_UNLIKELY(hew_reserve_used) ? hew_reserve_take(pages, code) : NULL;
    return slab != NULL ? slab : hew_slab_make(pages, code);
}

/* Lock held, with a full current slab or none.  Makes the lowest nonfull slab current. */
static bool
next_slab(struct hew_bin *bin)
{
    struct hew_extent *lowest = slab_of(hew_heap_lowest(&bin->nonfull));
    if (lowest == NULL) {
        return false;
    }
    HEW_ASSERT(1, lowest != bin->current && lowest->slab.free_regions != 0 &&
                      lowest->slab.free_regions <= hew_slab_shape(lowest)->regions);
    dequeue(bin, lowest);
    retire_current(bin);
    bin->current = lowest;
    bin->counts.reslabs++;
    return true;
}

/*
 * Lock held.  Returns whether the class has grown large enough for the threads that refill from it to justify a finer
 * class.  Each thread keeps objects of every class that it uses.  So another class costs these threads more than it
 * saves, until there are slabs for all of them.
 */
static bool
opens_fine(const struct hew_bin *bin, const struct hew_extent *slab)
{
    const struct hew_arena *arena = hew_arena_at(slab->arena); /* NULL: a bin of no arena */
    return bin->counts.slabs >= OPENS_FINE &&
           (arena == NULL || bin->counts.slabs >= atomic_load_explicit(&arena->threads, memory_order_relaxed));
}

/* Lock held.  Makes a new slab the current one.  False if other threads have brought a slab with free regions
 * meanwhile: the new one should be released, since a wholly free slab in the list would never be found. */
static bool
adopt(struct hew_bin *bin, struct hew_extent *slab)
{
    if (bin->nonfull.root != NULL || (bin->current != NULL && bin->current->slab.free_regions != 0)) {
        return false;
    }
    HEW_ASSERT(1, slab->slab.free_regions == hew_slab_shape(slab)->regions && !slab->slab.queued);
    bin->counts.slabs++;
    bin->counts.slabs_ever++;
    if (opens_fine(bin, slab)) {
        hew_size_class_open(slab->code);
    }
    retire_current(bin);
    bin->current = slab;
    return true;
}

void
hew_bin_release(struct hew_page_heap *pages, struct hew_extent *const *slabs, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        HEW_ASSERT(1, slabs[i]->state == HEW_EXTENT_ACTIVE && slabs[i]->code <= HEW_CODE_SMALL_LAST &&
                          !slabs[i]->slab.queued);
        if (HEW_UNLIKELY(slabs[i]->slab.reserved)) {
            hew_reserve_give(pages, slabs[i]);
        } else {
            hew_slab_end(slabs[i]);
            hew_page_give(pages, slabs[i]);
        }
    }
}

/* Without the lock: the bin is about to get a slab; NULL: a bin of no arena.  Sequentially consistent: see struct
 * hew_arena. */
static void
note_used(struct hew_arena *arena, unsigned code)
{
    if (arena != NULL) {
        atomic_fetch_or(&arena->used[code / 64], (uint64_t)1 << code % 64);
    }
}

/* Lock held, dropped meanwhile.  Brings a slab for a bin with no free region.  False: there is still none, for lack of
 * memory. */
static bool
bin_make_room(struct hew_bin *bin, const struct hew_page_client *pages, unsigned code)
{
    hew_mutex_unlock(&bin->lock);
    note_used(hew_arena_at(pages->arena), code);
    struct hew_extent *slab = new_slab(pages, code);
    hew_mutex_lock(&bin->lock);
    if (slab != NULL && !adopt(bin, slab)) {
        hew_mutex_unlock(&bin->lock);
        hew_bin_release(pages->heap, &slab, 1);
        hew_mutex_lock(&bin->lock);
    }
    return slab != NULL || bin->nonfull.root != NULL || (bin->current != NULL && bin->current->slab.free_regions != 0);
}

/* Lock held.  The current slab has holes.  Regions allocated from holes get memory again when they are touched. */
static HEW_NOINLINE unsigned
take_beside_holes(struct hew_bin *bin, void **end, unsigned wanted)
{
    struct hew_extent *slab = bin->current;
    uint32_t before = slab->slab.absent;
    unsigned taken = hew_hole_take(slab, end, wanted);
    size_t back = hew_hole_bytes(slab, before & ~slab->slab.absent);
    change_holes(bin, -(ptrdiff_t)back);
    bin->counts.holes_refaulted += back;
    return taken;
}

unsigned
hew_bin_take(struct hew_bin *bin, const struct hew_page_client *pages, unsigned code, void **regions, unsigned wanted)
{
    unsigned left = wanted;
    hew_mutex_lock(&bin->lock);
    while (left > 0) {
        if (bin->current != NULL && bin->current->slab.free_regions != 0) {
            bool holes = HEW_UNLIKELY(bin->current->slab.absent != 0);
            left -= holes ? take_beside_holes(bin, regions + left, left)
                          : hew_slab_take(bin->current, regions + left, left);
        } else if (!next_slab(bin)) {
            /* Make a new slab only for the first object: otherwise those already taken are enough. */
            if (left < wanted || !bin_make_room(bin, pages, code)) {
                break;
            }
        }
    }
    bin->counts.nmalloc += wanted - left;
    bin->counts.fills++;
    HEW_ASSERT(1, left == wanted || hew_map_extent((uintptr_t)regions[left])->code == code);
    HEW_ASSERT(3, hew_bin_valid_if_due(bin));
    hew_mutex_unlock(&bin->lock);
    if (left > 0) {
        memmove(regions, regions + left, (wanted - left) * sizeof *regions);
    }
    return wanted - left;
}

/* Lock held, after a region of `slab` became free.  Updates the lists.  True when the slab should be released. */
static bool
bin_settle(struct hew_bin *bin, struct hew_extent *slab)
{
    if (slab == bin->current) {
        return false;
    }
    if (lists_full(bin) && !slab->slab.queued) {
        hew_list_remove(&slab->slab.full);
    }
    if (slab->slab.free_regions == hew_slab_shape(slab)->regions) {
        if (slab->slab.queued) {
            dequeue(bin, slab);
        }
        HEW_ASSERT(1, bin->counts.slabs != 0);
        bin->counts.slabs--;
        forget_holes(bin, slab);
        return true;
    }
    if (!slab->slab.queued) {
        enqueue(bin, slab);
    }
    return false;
}

/* Lock held.  Makes the first slab with free regions the current one, so that the others, which are higher or have
 * holes, can become empty.  Returns the former current one if it should be released, or NULL. */
static struct hew_extent *
prefer_lowest(struct hew_bin *bin)
{
    struct hew_heap_node *first = hew_heap_lowest(&bin->nonfull);
    struct hew_extent *lowest = slab_of(first), *former = bin->current;
    if (first == NULL || former == NULL || first->key > hew_hole_key(former)) {
        return NULL;
    }
    dequeue(bin, lowest);
    retire_current(bin);
    bin->current = lowest;
    return former->slab.free_regions != 0 && bin_settle(bin, former) ? former : NULL;
}

/* Prefetches the slab of an object that is freed soon: its memory may be far. */
static void
fetch_slab(struct hew_map_window *window, const void *object)
{
    uintptr_t slab = (uintptr_t)hew_map_extent_near(window, (uintptr_t)object); /* perhaps NULL */
    __builtin_prefetch((const void *)(slab + offsetof(struct hew_extent, inline_bits)), 1);
}

/*
 * Lock held.  Frees the regions of `objects` until EMPTY_AT_ONCE slabs should be released or one object is not of this
 * bin.  Objects of one slab often follow each other.  So the lists are updated once the last of them is freed, and not
 * at all when the slab stays listed.  Returns how many objects were good.
 */
static HEW_NOINLINE unsigned
free_regions(struct hew_bin *bin, struct hew_map_window window, void *const *objects, unsigned count,
             struct empties *empties)
{
    void *const *at = objects, *const *end = objects + count, *const *far = end - (count > AHEAD ? AHEAD : count);
    const struct hew_slab_shape shape = hew_slab_shapes[empties->code];
    do {
        struct hew_extent *slab = hew_map_extent_near(&window, (uintptr_t)*at);
        if (HEW_UNLIKELY(slab == NULL || hew_extent_owner(slab) != empties->owner)) {
            break;
        }
        if (at < far) {
            fetch_slab(&window, at[AHEAD]);
        }
        unsigned done = hew_slab_give(slab, &shape, at, end);
        if (HEW_UNLIKELY(done == 0)) {
            break;
        }
        at += done;
        bool stays = slab->slab.queued && slab->slab.free_regions != shape.regions;
        if (!stays && bin_settle(bin, slab)) {
            empties->slab[empties->count++] = slab;
        }
    } while (at != end && empties->count < EMPTY_AT_ONCE);
    bin->counts.ndalloc += (unsigned)(at - objects);
    return (unsigned)(at - objects);
}

unsigned
hew_bin_give(struct hew_bin *bin, struct hew_page_heap *pages, void *const *objects, unsigned count)
{
    struct hew_map_window window = HEW_MAP_NO_WINDOW;
    struct empties empties;
    unsigned done = 0;
    bool over, due;
    HEW_ASSERT(1, count != 0);
    for (unsigned i = 0; i < AHEAD && i < count; i++) {
        fetch_slab(&window, objects[i]);
    }
    const struct hew_extent *first = hew_map_extent((uintptr_t)objects[0]);
    empties.code = first->code; /* read once, not at each pass: the next object may be another bin's */
    empties.owner = hew_extent_owner(first);
    do {
        empties.count = 0;
        hew_mutex_lock(&bin->lock);
        done += free_regions(bin, window, objects + done, count - done, &empties);
        over = done == count || empties.count < EMPTY_AT_ONCE;
        struct hew_extent *former = over ? prefer_lowest(bin) : NULL;
        if (former != NULL) {
            empties.slab[empties.count++] = former;
        }
        bin->counts.flushes += over;
        due = bin->counts.nonfull >= DUE_SLABS;
        HEW_ASSERT(1, done <= count && bin->counts.ndalloc <= bin->counts.nmalloc);
        HEW_ASSERT(3, hew_bin_valid_if_due(bin));
        hew_mutex_unlock(&bin->lock);
        hew_bin_release(pages, empties.slab, empties.count);
    } while (!over);
    if (due) {
        hew_page_raise_due();
    }
    return done;
}

void
hew_bin_trim(struct hew_bin *bin, struct hew_page_heap *pages)
{
    hew_mutex_lock(&bin->lock);
    struct hew_extent *current = bin->current;
    bool idle = current != NULL && current->slab.free_regions == hew_slab_shape(current)->regions;
    if (idle) {
        HEW_ASSERT(1, bin->counts.slabs != 0 && !current->slab.queued);
        bin->current = NULL;
        bin->counts.slabs--;
        forget_holes(bin, current);
    }
    hew_mutex_unlock(&bin->lock);
    if (idle) {
        hew_bin_release(pages, &current, 1);
    }
}

/* Lock held.  Moves the slab to its key's place among the nonfull ones. */
static void
renew_place(struct hew_bin *bin, struct hew_extent *slab)
{
    if (slab->slab.queued && slab->slab.node.key != hew_hole_key(slab)) {
        dequeue(bin, slab);
        enqueue(bin, slab);
    }
}

struct hew_hole_outing
hew_bin_take_out(struct hew_bin *bin, struct hew_extent *slab, uint32_t idle)
{
    HEW_ASSERT(1, slab == bin->current || slab->slab.queued);
    struct hew_hole_outing outing = {slab, idle, slab->slab.absent};
    forget_holes(bin, slab);
    hew_hole_take_out(slab, outing.idle | outing.absent);
    if (slab->slab.free_regions == 0 && slab->slab.queued) {
        dequeue(bin, slab);
        if (lists_full(bin)) {
            hew_list_push_back(&bin->full, &slab->slab.full);
        }
    }
    renew_place(bin, slab);
    return outing;
}

bool
hew_bin_put_back(struct hew_bin *bin, const struct hew_hole_outing *outing, bool gone)
{
    struct hew_extent *slab = outing->slab;
    HEW_ASSERT(1, slab->slab.absent == 0);
    hew_hole_put_back(slab, outing->idle | outing->absent);
    slab->slab.absent = outing->absent | (gone ? outing->idle : 0);
    if (hew_marks_wanted()) {
        hew_slab_forget_contents(slab);
    }
    change_holes(bin, (ptrdiff_t)hew_hole_bytes(slab, slab->slab.absent));
    bin->counts.holes_purged += gone ? hew_hole_bytes(slab, outing->idle) : 0;
    renew_place(bin, slab);
    return bin_settle(bin, slab);
}

/* Lock held.  Moves every slab of the bin into `slabs`. */
static void
gather(struct hew_bin *bin, struct hew_list *slabs)
{
    hew_list_begin(slabs);
    if (bin->current != NULL) {
        hew_list_push_back(slabs, &bin->current->slab.full);
        bin->current = NULL;
    }
    struct hew_extent *slab;
    while ((slab = slab_of(hew_heap_lowest(&bin->nonfull))) != NULL) {
        dequeue(bin, slab);
        hew_list_push_back(slabs, &slab->slab.full);
    }
    struct hew_list *node;
    while ((node = hew_list_first(&bin->full)) != NULL) {
        hew_list_remove(node);
        hew_list_push_back(slabs, node);
    }
}

void
hew_bin_clear(struct hew_bin *bin, struct hew_page_heap *pages)
{
    struct hew_list slabs, *node;
    hew_mutex_lock(&bin->lock);
    gather(bin, &slabs);
    bin->counts.ndalloc = bin->counts.nmalloc;
    bin->counts.slabs = 0;
    change_holes(bin, -(ptrdiff_t)bin->counts.holes);
    hew_mutex_unlock(&bin->lock);
    while ((node = hew_list_first(&slabs)) != NULL) {
        hew_list_remove(node);
        struct hew_extent *slab = HEW_CONTAINER(node, struct hew_extent, slab.full);
        hew_bin_release(pages, &slab, 1);
    }
}
