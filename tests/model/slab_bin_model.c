/* SPDX-License-Identifier: MIT */
/*
 * slab_bin: one bin against a model that knows every slab, every region and every hole by heart, under random takes and gives,
 * returned holes, wrong gives and refused calls; then four threads on one bin, while a fifth returns its holes.
 */
#include "slab/holes.h"

#include "layers.h"
#include "layers_random.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define SLABS_MAX 64
#define REGIONS_MAX 256
#define PIECES_MAX 32
#define BATCH 40

struct model_slab {
    uintptr_t address;
    unsigned free;
    bool taken[REGIONS_MAX];
    bool absent[PIECES_MAX];
};

struct model {
    struct hew_page_heap pages;
    struct hew_bin bin;
    unsigned code, regions;
    struct model_slab slabs[SLABS_MAX];
    unsigned count;
    struct model_slab *current;
    uint64_t nmalloc, ndalloc;
    uint64_t purged, refaulted; /* pieces */
    size_t piece;               /* bytes */
    unsigned pieces;
    struct hew_holes_seen seen;
};

static struct layers_random dice;
static bool refuse_now;

static bool
refuse(const char *call)
{
    return refuse_now;
}

/* The pieces that a region lies on: from the first one up to the end. */
static unsigned
first_piece(const struct model *model, unsigned region)
{
    return (unsigned)(region * (size_t)hew_slab_shapes[model->code].size / model->piece);
}

static unsigned
end_piece(const struct model *model, unsigned region)
{
    return (unsigned)(((region + 1) * (size_t)hew_slab_shapes[model->code].size - 1) / model->piece) + 1;
}

static bool
has_memory(const struct model *model, const struct model_slab *slab, unsigned region)
{
    bool all = true;
    for (unsigned piece = first_piece(model, region); piece < end_piece(model, region); piece++) {
        all = all && !slab->absent[piece];
    }
    return all;
}

static bool
has_holes(const struct model_slab *slab)
{
    bool any = false;
    for (unsigned piece = 0; piece < PIECES_MAX; piece++) {
        any = any || slab->absent[piece];
    }
    return any;
}

static bool
comes_first(const struct model_slab *one, const struct model_slab *other)
{
    return has_holes(one) != has_holes(other) ? has_holes(other) : one->address < other->address;
}

static struct model_slab *
lowest_with_room(struct model *model)
{
    struct model_slab *lowest = NULL;
    for (unsigned i = 0; i < model->count; i++) {
        struct model_slab *slab = &model->slabs[i];
        if (slab->free != 0 && (lowest == NULL || comes_first(slab, lowest))) {
            lowest = slab;
        }
    }
    return lowest;
}

/* Of the current slab: the lowest free region with memory, or the lowest. */
static unsigned
next_region(const struct model *model)
{
    unsigned lowest = REGIONS_MAX;
    for (unsigned region = 0; region < model->regions; region++) {
        if (!model->current->taken[region] && has_memory(model, model->current, region)) {
            return region;
        }
        lowest = !model->current->taken[region] && lowest == REGIONS_MAX ? region : lowest;
    }
    return lowest;
}

/* The region that must leave next; NULL when the bin has none. */
static void *
expect(struct model *model)
{
    if (model->current == NULL || model->current->free == 0) {
        struct model_slab *lowest = lowest_with_room(model);
        if (lowest == NULL) {
            return NULL;
        }
        model->current = lowest;
    }
    unsigned region = next_region(model);
    for (unsigned piece = first_piece(model, region); piece < end_piece(model, region); piece++) {
        model->refaulted += model->current->absent[piece];
        model->current->absent[piece] = false;
    }
    model->current->taken[region] = true;
    model->current->free--;
    return (void *)(model->current->address + (uintptr_t)region * hew_slab_shapes[model->code].size);
}

static void
learn_slab(struct model *model, void *first)
{
    uintptr_t address = (uintptr_t)first;
    size_t bytes = hew_slab_shapes[model->code].pages * HEW_PAGE;
    CHECK_EQUAL(address % HEW_GRAIN, 0);
    for (unsigned i = 0; i < model->count; i++) {
        CHECK(model->slabs[i].address + bytes <= address || address + bytes <= model->slabs[i].address);
    }
    model->slabs[model->count] = (struct model_slab){.address = address, .free = model->regions};
    model->current = &model->slabs[model->count++];
}

/* At both ends of an object: whatever is done to its slab, they stay. */
static uintptr_t *
last_word(const struct model *model, void *object)
{
    return (uintptr_t *)((char *)object + hew_slab_shapes[model->code].size) - 1;
}

static void
write_marks(const struct model *model, void *object)
{
    *last_word(model, object) = (uintptr_t)object + 1;
    *(uintptr_t *)object = (uintptr_t)object;
}

static bool
holds_marks(const struct model *model, void *object)
{
    return *(uintptr_t *)object == (uintptr_t)object && *last_word(model, object) == (uintptr_t)object + 1;
}

static void
take(struct model *model)
{
    void *regions[BATCH];
    unsigned wanted = 1 + (unsigned)layers_random_below(&dice, BATCH);
    refuse_now = layers_random_once_in(&dice, 10);
    unsigned taken = hew_bin_take(&model->bin, LAYERS_CLIENT(&model->pages), model->code, regions, wanted);
    for (unsigned i = 0; i < taken; i++) {
        void *expected = expect(model);
        if (expected == NULL) {
            CHECK_EQUAL(i, 0); /* a new slab only for the first */
            learn_slab(model, regions[taken - 1]);
            expected = expect(model);
        }
        CHECK(regions[taken - 1 - i] == expected);
        write_marks(model, expected);
    }
    CHECK(taken > 0 || refuse_now);
    if (taken < wanted) {
        CHECK(lowest_with_room(model) == NULL);
    }
    refuse_now = false;
    model->nmalloc += taken;
}

static void
forget(struct model *model, struct model_slab *slab)
{
    struct model_slab *last = &model->slabs[--model->count];
    *slab = *last;
    model->current = model->current == last ? slab : model->current;
}

/* One region of the slab at `address` has become free: a slab that is wholly free goes, but for the current one. */
static void
free_one(struct model *model, uintptr_t address)
{
    struct model_slab *slab = model->slabs;
    while (slab->address != address) {
        slab++;
    }
    if (++slab->free == model->regions && slab != model->current) {
        forget(model, slab);
    }
}

/* After a batch: the lowest slab with room is the current one. */
static void
prefer_lowest(struct model *model)
{
    struct model_slab *lowest = lowest_with_room(model), *former = model->current;
    if (lowest != NULL && comes_first(lowest, former)) {
        model->current = lowest;
        if (former->free == model->regions) {
            forget(model, former);
        }
    }
}

static bool
has_objects(const struct model *model, const struct model_slab *slab)
{
    bool any = false;
    for (unsigned region = 0; region < model->regions; region++) {
        any = any || slab->taken[region];
    }
    return any;
}

/* Some taken region, or one that is not if `wrong`; false when the dice found none. */
static bool
pick(struct model *model, bool wrong, void **back, struct model_slab **slab, unsigned *region)
{
    *slab = &model->slabs[layers_random_below(&dice, model->count)];
    *region = (unsigned)layers_random_below(&dice, model->regions);
    if ((*slab)->taken[*region] == wrong) {
        return false;
    }
    *back = (void *)((*slab)->address + (uintptr_t)*region * hew_slab_shapes[model->code].size);
    return true;
}

static void
give(struct model *model)
{
    void *back[BATCH + 1];
    uintptr_t slabs[BATCH];
    struct model_slab *slab;
    unsigned wanted = 1 + (unsigned)layers_random_below(&dice, BATCH), count = 0, region;
    for (unsigned tries = 0; tries < 4 * wanted && count < wanted; tries++) {
        if (pick(model, false, &back[count], &slab, &region)) {
            CHECK(holds_marks(model, back[count]));
            slab->taken[region] = false;
            slabs[count++] = slab->address;
        }
    }
    unsigned more = 0;
    if (layers_random_once_in(&dice, 5) && pick(model, true, &back[count], &slab, &region) &&
        has_objects(model, slab)) {
        more = 1; /* is free already, in a slab that stays a slab */
    }
    if (count + more == 0) {
        return;
    }
    CHECK_EQUAL(hew_bin_give(&model->bin, &model->pages, back, count + more), count);
    model->ndalloc += count;
    for (unsigned i = 0; i < count; i++) {
        free_one(model, slabs[i]);
    }
    prefer_lowest(model);
}

/* Every piece of the slab without a taken region loses its memory. */
static void
return_slab(struct model *model, struct model_slab *slab)
{
    bool idle[PIECES_MAX];
    for (unsigned piece = 0; piece < model->pieces; piece++) {
        idle[piece] = !slab->absent[piece];
    }
    for (unsigned region = 0; region < model->regions; region++) {
        for (unsigned piece = first_piece(model, region); piece < end_piece(model, region); piece++) {
            idle[piece] = idle[piece] && !slab->taken[region];
        }
    }
    for (unsigned piece = 0; piece < model->pieces; piece++) {
        slab->absent[piece] = slab->absent[piece] || idle[piece];
        model->purged += idle[piece];
    }
}

static void
return_holes(struct model *model)
{
    struct hew_holes_look look = {&model->pages, &model->bin, &model->seen, model->code, true, 0, 0};
    refuse_now = layers_random_once_in(&dice, 4);
    hew_holes_look(&look);
    for (unsigned i = 0; i < model->count && !refuse_now; i++) {
        return_slab(model, &model->slabs[i]);
    }
    refuse_now = false;
}

static void
compare_holes(const struct model *model)
{
    const struct hew_bin_counts *counts = &model->bin.counts;
    size_t absent = 0;
    for (unsigned i = 0; i < model->count; i++) {
        const struct hew_extent *extent = hew_map_extent(model->slabs[i].address);
        for (unsigned piece = 0; piece < PIECES_MAX; piece++) {
            CHECK_EQUAL(extent->slab.absent >> piece & 1, model->slabs[i].absent[piece]);
            absent += model->slabs[i].absent[piece];
        }
    }
    CHECK_EQUAL(counts->holes, absent * model->piece);
    CHECK_EQUAL(counts->holes_purged, model->purged * model->piece);
    CHECK_EQUAL(counts->holes_refaulted, model->refaulted * model->piece);
}

static void
compare(struct model *model)
{
    const struct hew_bin_counts *counts = &model->bin.counts;
    unsigned listed = 0;
    for (unsigned i = 0; i < model->count; i++) {
        struct model_slab *slab = &model->slabs[i];
        struct hew_extent *extent = hew_map_extent(slab->address);
        bool same = extent != NULL && extent->address == slab->address && extent->slab.free_regions == slab->free;
        CHECK(same);
        for (unsigned region = 0; same && region < model->regions; region++) {
            CHECK_EQUAL(hew_slab_is_taken(extent, region), slab->taken[region]);
        }
        listed += slab != model->current && slab->free != 0;
    }
    CHECK_EQUAL(counts->slabs, model->count);
    CHECK_EQUAL(counts->nonfull, listed);
    CHECK_EQUAL(counts->nmalloc, model->nmalloc);
    CHECK_EQUAL(counts->ndalloc, model->ndalloc);
    CHECK(model->current == NULL || model->bin.current == hew_map_extent(model->current->address));
    compare_holes(model);
    CHECK(hew_bin_valid(&model->bin));
    CHECK(hew_page_heap_valid(&model->pages));
    CHECK_EQUAL(hew_page_counts(&model->pages).active, model->count * hew_slab_shapes[model->code].pages * HEW_PAGE);
}

static void
run(struct model *model, unsigned code, unsigned operations)
{
    hew_page_heap_begin(&model->pages, 0, 0);
    model->code = code;
    model->regions = hew_slab_shapes[code].regions;
    model->piece = hew_hole_piece(&hew_slab_shapes[code]);
    model->pieces = (unsigned)((hew_slab_shapes[code].bytes + model->piece - 1) / model->piece);
    unsigned most = SLABS_MAX * model->regions - BATCH, most_now = most;
    for (unsigned i = 0; i < operations && test_failures == 0; i++) {
        uint64_t live = model->nmalloc - model->ndalloc;
        most_now = i % 500 == 0 ? (unsigned)layers_random_below(&dice, most) : most_now; /* it grows, and it shrinks */
        if (model->count > 0 && (live > most_now || layers_random_once_in(&dice, 3))) {
            give(model);
        } else if (model->count < SLABS_MAX) {
            take(model);
        }
        if (layers_random_once_in(&dice, 40)) {
            return_holes(model);
        }
        if (i % 50 == 0) {
            compare(model);
        }
    }
    compare(model);
    CHECK(model->purged != 0 && model->refaulted != 0);
}

TEST(a_bin_does_what_a_naive_model_of_it_does)
{
    static struct model models[8];
    static const size_t sizes[] = {64, 320, 448, 1024, 1792, 4096, 7168, 14336};
    CHECK(layers_boot());
    hew_size_class_set_slabs(1792, 1792, 64); /* pieces of two pages */
    dice.state = layers_random_seed();
    hew_os_faults.refuse = refuse;
    for (unsigned i = 0; i < 8; i++) {
        run(&models[i], hew_code_of_size(sizes[i]), 20000);
    }
    hew_os_faults.refuse = NULL;
}

#define THREADS 4
#define HELD 3000

static struct hew_bin shared;
static struct hew_page_heap shared_pages;
static struct hew_holes_seen shared_seen;
static unsigned shared_code;
static _Atomic unsigned wrong;
static _Atomic bool over;

struct own {
    uint64_t seed;
    void *held[HELD];
    unsigned count;
};

static void
take_some(struct own *own, struct layers_random *random, unsigned code)
{
    void *regions[BATCH];
    unsigned wanted = 1 + (unsigned)layers_random_below(random, BATCH);
    wanted = wanted < HELD - own->count ? wanted : HELD - own->count;
    unsigned taken = wanted == 0 ? 0 : hew_bin_take(&shared, LAYERS_CLIENT(&shared_pages), code, regions, wanted);
    wrong += wanted != 0 && taken == 0;
    for (unsigned i = 0; i < taken; i++) {
        *(void **)regions[i] = own;
        own->held[own->count++] = regions[i];
    }
}

static void
give_some(struct own *own, struct layers_random *random, unsigned most)
{
    void *back[BATCH];
    unsigned count = 0;
    for (; count < most && own->count > 0; count++) {
        unsigned at = (unsigned)layers_random_below(random, own->count);
        back[count] = own->held[at];
        own->held[at] = own->held[--own->count];
        wrong += *(void **)back[count] != own; /* another request got it, too */
    }
    if (count == 0) { /* nothing held: a give is of at least one */
        return;
    }
    wrong += hew_bin_give(&shared, &shared_pages, back, count) != count;
}

static void *
work(void *argument)
{
    struct own *own = argument;
    struct layers_random random = {own->seed};
    for (unsigned i = 0; i < 6000; i++) {
        if (layers_random_below(&random, HELD) > own->count) {
            take_some(own, &random, shared_code);
        } else {
            give_some(own, &random, 1 + (unsigned)layers_random_below(&random, BATCH));
        }
        if (i % 64 == 0) { /* so that each meets the others in the midst of their work, on few CPUs too */
            sched_yield();
        }
        if (i % 1000 == 999) { /* down to nothing: slabs go and come */
            while (own->count > 0) {
                give_some(own, &random, BATCH);
            }
        }
    }
    return NULL;
}

static void *
return_shared(void *unused)
{
    while (!over) {
        struct hew_holes_look look = {&shared_pages, &shared, &shared_seen, shared_code, true, 0, 0};
        hew_holes_look(&look);
    }
    return unused;
}

static void
run_threads(uint16_t number, size_t size)
{
    static struct own owns[THREADS];
    pthread_t threads[THREADS], returner;
    memset(&shared, 0, sizeof shared);
    memset(owns, 0, sizeof owns);
    over = false;
    shared_code = hew_code_of_size(size);
    hew_page_heap_begin(&shared_pages, number, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        owns[i].seed = layers_random_seed() + i;
        CHECK_EQUAL(pthread_create(&threads[i], NULL, work, &owns[i]), 0);
    }
    CHECK_EQUAL(pthread_create(&returner, NULL, return_shared, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    over = true;
    pthread_join(returner, NULL);
    hew_bin_trim(&shared, &shared_pages);
    CHECK_EQUAL(shared.counts.slabs, 0);
    CHECK_EQUAL(shared.counts.holes, 0);
    CHECK_EQUAL(wrong, 0);
    CHECK_EQUAL(shared.counts.nmalloc, shared.counts.ndalloc);
    CHECK_EQUAL(shared.counts.nonfull, 0);
    CHECK(hew_bin_valid(&shared) && hew_page_heap_valid(&shared_pages));
    CHECK_EQUAL(hew_page_counts(&shared_pages).active, 0);
}

TEST(four_threads_on_one_bin_never_share_a_region_and_leave_no_slab_while_a_fifth_returns_its_holes)
{
    run_threads(1, 512);
}

TEST(nor_do_they_where_regions_lie_on_two_pages)
{
    memset(&shared_pages, 0, sizeof shared_pages);
    run_threads(2, 1280);
}
