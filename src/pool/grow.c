/* SPDX-License-Identifier: MIT */
#include "pool/grow.h"

#include "meta/memory.h"
#include "os/clock.h"
#include "page/heap.h"
#include "pool/object.h"
#include "pool/range.h"

#define DYNAMIC_MIN ((size_t)64 << 10)
#define DYNAMIC_MAX ((size_t)64 << 20)
#define DYNAMIC_PART 4 /* a new pool is a quarter of the size's capacity */
#define SPARE_MS 1000
#define RECENT_PART 4

/* Bytes of the recently used words for each processor; 0 where they would be large compared to the objects. */
static size_t
recent_bytes(const struct hew_pool_set *set, unsigned number, size_t count)
{
    size_t bytes = set->processors * sizeof(struct hew_pool_recent);
    return bytes <= count * set->classes[number].stride / RECENT_PART ? bytes : 0;
}

static size_t
notes_bytes(const struct hew_pool_set *set, unsigned number, size_t count)
{
    return recent_bytes(set, number, count) + hew_pool_block_bytes(count) +
           hew_pool_object_bytes(set, &set->classes[number], count);
}

struct hew_pool_block *
hew_pool_grow_block(struct hew_pool_set *set, unsigned number, size_t count)
{
    struct hew_pool_block *block = hew_meta_take(sizeof *block);
    char *notes = block == NULL || count == 0 ? NULL : hew_meta_take(notes_bytes(set, number, count));
    if (block == NULL || (notes == NULL && count != 0)) {
        if (block != NULL) {
            hew_meta_give(block, sizeof *block);
        }
        return NULL;
    }
    size_t recent = recent_bytes(set, number, count);
    block->recent = recent == 0 ? NULL : (struct hew_pool_recent *)notes;
    hew_pool_block_begin(block, set->classes[number].stride, count, notes + recent);
    if (count != 0) {
        hew_pool_object_begin(set, &set->classes[number], block, notes + recent + hew_pool_block_bytes(count));
    }
    block->number = number;
    return block;
}

void
hew_pool_grow_drop_block(struct hew_pool_set *set, struct hew_pool_block *block)
{
    if (block->count != 0) {
        void *notes = block->recent != NULL ? (void *)block->recent : (void *)block->words;
        hew_meta_give(notes, notes_bytes(set, block->number, block->count));
    }
    hew_meta_give(block, sizeof *block);
}

void
hew_pool_grow_note_taken(struct hew_pool_class *class, struct hew_pool_block *block, size_t objects)
{
    if (!hew_pool_block_counts(block)) {
        return;
    }
    size_t before = atomic_fetch_sub_explicit(&block->free, objects, memory_order_relaxed);
    if (before == block->count && !block->fixed) {
        atomic_fetch_sub_explicit(&class->whole, 1, memory_order_relaxed);
    }
}

void
hew_pool_grow_note_given(struct hew_pool_class *class, struct hew_pool_block *block, size_t objects)
{
    if (!hew_pool_block_counts(block)) {
        return;
    }
    size_t before = atomic_fetch_add_explicit(&block->free, objects, memory_order_relaxed);
    if (before + objects == block->count && !block->fixed) {
        atomic_store_explicit(&block->whole_ms, hew_clock_ms(), memory_order_relaxed);
        atomic_fetch_add_explicit(&class->whole, 1, memory_order_relaxed);
        hew_page_raise_due(); /* a thread must check when the pool's time has elapsed */
    }
}

static size_t
new_count(const struct hew_pool_set *set, const struct hew_pool_class *class)
{
    if (set->options.dynamic_count != 0) {
        return set->options.dynamic_count;
    }
    /* At most four times the fixed group's size: then the quarter rule removes the pool when all objects are free. */
    size_t bytes = atomic_load_explicit(&class->capacity, memory_order_relaxed) * class->stride / DYNAMIC_PART;
    size_t least = class->declared * class->stride * 2;
    least = least < HEW_GRAIN ? HEW_GRAIN : least > DYNAMIC_MIN ? DYNAMIC_MIN : least;
    bytes = bytes < least ? least : bytes > DYNAMIC_MAX ? DYNAMIC_MAX : bytes;
    bytes = bytes < class->stride ? class->stride : bytes;
    return hew_bits_round_up(bytes, HEW_GRAIN) / class->stride;
}

/* Set's lock held.  Returns a block without memory at present, or appends a new one. */
static struct hew_pool_block *
find_place(struct hew_pool_set *set, unsigned number)
{
    struct hew_pool_class *class = &set->classes[number];
    struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_relaxed);
    while (block != NULL && (block->there || block->range != NULL)) {
        block = atomic_load_explicit(&block->next, memory_order_relaxed);
    }
    return block != NULL ? block : hew_pool_grow_block(set, number, new_count(set, class));
}

/* Set's lock held.  release: pairs with the acquire of threads that walk the list. */
static void
append(struct hew_pool_class *class, struct hew_pool_block *block)
{
    if (class->last == NULL) {
        atomic_store_explicit(&class->first, block, memory_order_release);
    } else if (class->last != block && atomic_load_explicit(&block->next, memory_order_relaxed) == NULL) {
        atomic_store_explicit(&class->last->next, block, memory_order_release);
    }
    class->last = block;
}

static bool
is_listed(const struct hew_pool_class *class, const struct hew_pool_block *block)
{
    return block == class->last || atomic_load_explicit(&block->next, memory_order_relaxed) != NULL;
}

/* Set's lock held.  From now on threads can allocate the block's objects. */
static void
open_block(struct hew_pool_class *class, struct hew_pool_block *block)
{
    block->there = true;
    class->pools++;
    atomic_fetch_add_explicit(&class->capacity, block->count, memory_order_relaxed);
    atomic_fetch_add_explicit(&class->grown, 1, memory_order_relaxed);
    hew_pool_block_give_all(block);
    hew_pool_grow_note_given(class, block, block->count);
}

/* Set's lock held.  Gets memory for a block that has none.  False: no memory, or a limit is reached. */
static bool
furnish(struct hew_pool_set *set, struct hew_pool_block *block)
{
    size_t bytes = hew_bits_round_up(block->count * block->stride, HEW_GRAIN), most = set->options.most_bytes;
    struct hew_pool_range *range =
        most == 0 || bytes <= most - set->bytes ? hew_pool_range_take(set, bytes, block) : NULL;
    if (range != NULL) {
        block->range = range;
        block->address = range->address;
        set->bytes += bytes;
    }
    return range != NULL;
}

/* Set's lock held.  Takes the spare of the pool removed last; NULL: no spare has memory. */
static struct hew_pool_block *
take_spare(struct hew_pool_set *set, struct hew_pool_class *class)
{
    struct hew_pool_block *block = atomic_load_explicit(&class->spare, memory_order_relaxed);
    if (block != NULL) {
        atomic_store_explicit(&class->spare, block->spare_below, memory_order_relaxed);
        block->range->set = set;
    }
    return block;
}

/* Set's lock held. */
static bool
add(struct hew_pool_set *set, unsigned number)
{
    struct hew_pool_class *class = &set->classes[number];
    const struct hew_pool_options *options = &set->options;
    if (options->fixed_only || (options->most_pools != 0 && class->pools >= options->most_pools)) {
        return false;
    }
    struct hew_pool_block *block = take_spare(set, class);
    if (block == NULL) {
        block = find_place(set, number);
        if (block == NULL) {
            return false;
        }
        if (!furnish(set, block)) {
            if (!is_listed(class, block)) {
                hew_pool_grow_drop_block(set, block);
            }
            return false;
        }
        if (!is_listed(class, block)) {
            append(class, block);
        }
    }
    open_block(class, block);
    return true;
}

bool
hew_pool_grow(struct hew_pool_set *set, unsigned number, size_t capacity_seen)
{
    struct hew_pool_class *class = &set->classes[number];
    hew_mutex_lock(&set->lock);
    bool grown = atomic_load_explicit(&class->capacity, memory_order_relaxed) > capacity_seen || add(set, number);
    hew_mutex_unlock(&set->lock);
    return grown;
}

/* Set's lock held.  Free objects in the size's other pools. */
static size_t
room_elsewhere(const struct hew_pool_class *class, const struct hew_pool_block *left_out)
{
    size_t room = hew_pool_block_idle(class->fixed);
    room = room <= class->fixed->count ? room : 0;
    for (struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_relaxed); block != NULL;
         block = atomic_load_explicit(&block->next, memory_order_relaxed)) {
        size_t here = atomic_load_explicit(&block->free, memory_order_relaxed);
        room += block != left_out && block->there && here <= block->count ? here : 0;
    }
    return room;
}

static bool
may_go(const struct hew_pool_set *set, const struct hew_pool_class *class, const struct hew_pool_block *block,
       enum hew_pool_haste haste)
{
    if (!block->there || atomic_load_explicit(&block->free, memory_order_relaxed) != block->count) {
        return false;
    }
    if (haste == HEW_POOL_ALL || room_elsewhere(class, block) > block->count / 4) {
        return true;
    }
    uint64_t since = atomic_load_explicit(&block->whole_ms, memory_order_relaxed), now = hew_clock_ms();
    return haste == HEW_POOL_BY_TIME && now - since >= set->options.release_ms && now > since;
}

/* Set's lock held.  Claims a removable pool: no thread can allocate from it any more.  NULL: none. */
static struct hew_pool_block *
claim_one(struct hew_pool_set *set, struct hew_pool_class *class, enum hew_pool_haste haste)
{
    for (struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_relaxed); block != NULL;
         block = atomic_load_explicit(&block->next, memory_order_relaxed)) {
        if (may_go(set, class, block, haste) && hew_pool_block_claim(block)) {
            hew_pool_grow_note_taken(class, block, block->count);
            atomic_fetch_sub_explicit(&class->capacity, block->count, memory_order_relaxed);
            atomic_fetch_add_explicit(&class->gone, 1, memory_order_relaxed);
            class->pools--;
            block->there = false;
            return block;
        }
    }
    return NULL;
}

/* Set's lock held.  Turns removable pools into spares.  No thread has an object of theirs; freeing one is an error. */
static void
put_aside(struct hew_pool_set *set, struct hew_pool_class *class, enum hew_pool_haste haste)
{
    struct hew_pool_block *block;
    while (atomic_load_explicit(&class->whole, memory_order_relaxed) != 0 &&
           (block = claim_one(set, class, haste)) != NULL) {
        block->range->set = NULL;
        block->spare_below = atomic_load_explicit(&class->spare, memory_order_relaxed);
        atomic_store_explicit(&class->spare, block, memory_order_relaxed);
    }
}

static bool
is_old(const struct hew_pool_set *set, const struct hew_pool_block *block, enum hew_pool_haste haste)
{
    uint64_t most = set->options.release_ms < SPARE_MS ? set->options.release_ms : SPARE_MS;
    if (haste == HEW_POOL_ALL || set->options.most_bytes != 0) {
        return true;
    }
    return haste == HEW_POOL_BY_TIME &&
           hew_clock_ms() - atomic_load_explicit(&block->whole_ms, memory_order_relaxed) >= most;
}

/* Set's lock held.  Takes a spare whose memory must be returned; NULL: none. */
static struct hew_pool_block *
take_old_spare(struct hew_pool_set *set, struct hew_pool_class *class, enum hew_pool_haste haste)
{
    struct hew_pool_block *above = NULL, *block = atomic_load_explicit(&class->spare, memory_order_relaxed);
    while (block != NULL && !is_old(set, block, haste)) {
        above = block;
        block = block->spare_below;
    }
    if (block != NULL && above != NULL) {
        above->spare_below = block->spare_below;
    } else if (block != NULL) {
        atomic_store_explicit(&class->spare, block->spare_below, memory_order_relaxed);
    }
    set->bytes -= block != NULL ? block->range->size : 0;
    return block;
}

unsigned
hew_pool_shrink(struct hew_pool_set *set, unsigned number, enum hew_pool_haste haste)
{
    struct hew_pool_class *class = &set->classes[number];
    unsigned gone = 0;
    for (bool first = true; hew_pool_waits(class); first = false) {
        hew_mutex_lock(&set->lock);
        if (first) { /* only once: a pool added meanwhile is for a thread that has not allocated from it yet */
            put_aside(set, class, haste);
        }
        struct hew_pool_block *block = take_old_spare(set, class, haste);
        hew_mutex_unlock(&set->lock);
        if (block == NULL) {
            break;
        }
        hew_pool_object_end(set, block, true);
        hew_pool_range_give(set, block->range);
        hew_mutex_lock(&set->lock);
        block->range = NULL; /* the block may be reused */
        hew_mutex_unlock(&set->lock);
        gone++;
    }
    return gone;
}
