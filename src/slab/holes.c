/* SPDX-License-Identifier: MIT */
/*
 * holes: the walk through an arena's slabs.  The regions of idle pieces are marked as taken under the bin's lock.
 * Their memory is returned without it.  Then they become free again, as regions of absent pieces.
 */
#include "slab/holes.h"

#include "base/options.h"
#include "os/memory.h"
#include "page/bound.h"
#include "slab/arena.h"

#define LOOKS 8 /* scans during a slab's time, at which its free regions are counted */
#define LOOK_LEAST_MS 100
#define LINKS_AT_ONCE 128 /* of a walk, each perhaps a cache miss under the bin's lock: about 10 microseconds */
#define LINKS_A_SLAB 8    /* an undisturbed walk takes less than 6: it passes slabs that it has put back */
#define RANGES_AT_ONCE 32 /* in one call of process_madvise */
#define DENSE_PART 16     /* dense: less than one in this many of the bin's regions is free */
#define SPARSE_PART 4     /* sparse: less than one in this many is in use; huge pages are given up */

struct hew_mutex hew_holes_lock = HEW_MUTEX(holes);

/* The slabs whose regions are marked as taken; guarded by hew_holes_lock. */
static struct {
    struct hew_hole_outing at[HEW_HOLES_AT_ONCE];
    unsigned range_end[HEW_HOLES_AT_ONCE]; /* of each */
    unsigned count;
    struct hew_os_range ranges[HEW_HOLES_AT_ONCE * HEW_HOLE_PIECES / 2];
    unsigned range_count;
} out;

struct round {
    struct hew_holes_look look;
    size_t links; /* after which the walk ends in any case */
    bool began, waiting, sparse;
};

/* Returns whether the heap's slabs may have holes, which extent hooks do not know of.  If so, `*live_ms` is how long
 * memory may lie idle. */
static bool
may_return(struct hew_page_heap *pages, bool all, uint64_t *live_ms)
{
    hew_mutex_lock(&pages->lock);
    int64_t dirty = pages->dirty_decay.decay_ms, muzzy = pages->muzzy_decay.decay_ms;
    bool hooked = pages->hooks != NULL;
    hew_mutex_unlock(&pages->lock);
    bool never = dirty < 0 || muzzy < 0;
    *live_ms = never ? 0 : hew_page_bound_part((size_t)(dirty + muzzy));
    return !hooked && (all || !never);
}

/*
 * The time at which a slab is due.  Each slab has its own place on the curve 3t^2 - 2t^3 that dirty pages follow, in
 * steps of one scan.  Its address decides, so that of a burst's slabs some are returned early, most in the middle, and
 * the last at the end of the time.
 */
static uint64_t
due_after_ms(const struct hew_extent *slab, uint64_t live_ms)
{
    unsigned place = (unsigned)(slab->address / HEW_GRAIN * UINT64_C(0x9E3779B97F4A7C15) >> 56), look = 1;
    while (look < LOOKS &&
           place >= (3 * look * look * LOOKS - 2 * look * look * look) * 256 / (LOOKS * LOOKS * LOOKS)) {
        look++;
    }
    return live_ms * look / LOOKS;
}

/* Both locks held.  Returns whether the slab has been quiet for long enough. */
static bool
is_due(struct round *round, struct hew_extent *slab)
{
    uint16_t now_free = (uint16_t)slab->slab.free_regions;
    if (slab->slab.seen != now_free) {
        slab->slab.seen = now_free;
        slab->slab.quiet_ms = (uint32_t)round->look.now_ms;
    }
    uint32_t quiet = (uint32_t)round->look.now_ms - slab->slab.quiet_ms;
    bool due = round->look.all || quiet >= due_after_ms(slab, round->look.live_ms);
    round->waiting = round->waiting || !due;
    return due;
}

static bool
may_have_holes(const struct round *round, const struct hew_extent *slab)
{
    bool huge = __atomic_load_n(&slab->huge, __ATOMIC_RELAXED); /* read again under the page heap's lock */
    return !slab->slab.reserved && slab->slab.free_regions != 0 && (!huge || round->sparse);
}

/* Both locks held. */
static void
consider(struct round *round, struct hew_bin *bin, struct hew_extent *slab)
{
    uint32_t pieces = may_have_holes(round, slab) && is_due(round, slab) ? hew_hole_idle(slab) : 0;
    if (pieces == 0) {
        return;
    }
    size_t piece = hew_hole_piece(hew_slab_shape(slab));
    out.at[out.count] = hew_bin_take_out(bin, slab, pieces);
    while (pieces != 0) {
        unsigned first = (unsigned)__builtin_ctz(pieces), end = hew_hole_run_end(pieces);
        out.ranges[out.range_count++] =
            (struct hew_os_range){(char *)slab->address + first * piece, (end - first) * piece};
        pieces = (uint32_t)((uint64_t)pieces >> end << end);
    }
    out.range_end[out.count++] = out.range_count;
}

/* Both locks held.  Continues the walk. */
static void
collect(struct round *round, struct hew_bin *bin)
{
    size_t links = round->links < LINKS_AT_ONCE ? round->links : LINKS_AT_ONCE;
    round->links -= links;
    for (; bin->walk.at != NULL && links != 0 && out.count < HEW_HOLES_AT_ONCE; links--) {
        struct hew_extent *slab = HEW_CONTAINER(bin->walk.at, struct hew_extent, slab.node);
        bool leaves = hew_heap_walk_leaves(&bin->walk);
        hew_heap_walk_step(&bin->walk); /* before the slab moves */
        if (leaves) {
            consider(round, bin, slab);
        }
    }
    round->links += links;
}

/* Only hew_holes_lock held.  Returns the ranges' memory, and how many ranges were returned: all before the first that
 * the system refused. */
static unsigned
return_ranges(void)
{
    unsigned done = 0, most = (unsigned)hew_options.process_madvise_max_batch;
    most = most < RANGES_AT_ONCE ? most : RANGES_AT_ONCE;
    while (most != 0 && done < out.range_count) {
        unsigned group = out.range_count - done < most ? out.range_count - done : most;
        if (!hew_os_purge_ranges(out.ranges + done, group)) {
            break;
        }
        done += group;
    }
    while (done < out.range_count && hew_os_purge(out.ranges[done].address, out.ranges[done].size)) {
        done++;
    }
    return done;
}

static void
forgo_huge(struct round *round)
{
    for (unsigned i = 0; i < out.count; i++) {
        if (__atomic_load_n(&out.at[i].slab->huge, __ATOMIC_RELAXED)) {
            hew_page_forgo_huge(round->look.pages, out.at[i].slab);
        }
    }
}

/* hew_holes_lock held.  Returns the memory of the marked pieces and puts them back.  False: the system has refused some
 * of it. */
static bool
return_out(struct round *round)
{
    struct hew_bin *bin = round->look.bin;
    struct hew_extent *empties[HEW_HOLES_AT_ONCE];
    unsigned count = 0;
    forgo_huge(round);
    unsigned done = return_ranges();
    hew_mutex_lock(&bin->lock);
    for (unsigned i = 0; i < out.count; i++) {
        struct hew_extent *slab = out.at[i].slab;
        bool gone = out.range_end[i] <= done;
        if (hew_bin_put_back(bin, &out.at[i], gone)) {
            empties[count++] = slab;
        } else if (!gone) {
            slab->slab.quiet_ms = (uint32_t)round->look.now_ms; /* due again after a full time */
        }
    }
    bin->counts.holes_calls += done;
    HEW_ASSERT(3, hew_bin_valid_if_due(bin));
    hew_mutex_unlock(&bin->lock);
    hew_bin_release(round->look.pages, empties, count);
    return done == out.range_count;
}

/* Both locks held.  If there is anything to scan, begins the walk, with the current slab. */
static bool
begin_walk(struct round *round)
{
    const struct hew_holes_look *look = &round->look;
    const struct hew_bin_counts *counts = &look->bin->counts;
    size_t regions = counts->slabs * hew_slab_shapes[look->code].regions;
    size_t taken = (size_t)(counts->nmalloc - counts->ndalloc), moves = counts->nmalloc + counts->ndalloc;
    bool idle = moves == look->seen->moves && !look->seen->waiting;
    bool dense = regions < taken || regions - taken < regions / DENSE_PART;
    bool others = look->bin->walk.at != NULL; /* such a walk is soon done; a walk with `all` replaces it */
    round->sparse = taken < regions / SPARSE_PART;
    round->waiting = moves != look->seen->moves || others; /* the next scan shows whether it changes further */
    round->links = LINKS_A_SLAB * (counts->nonfull + 1);
    *look->seen = (struct hew_holes_seen){moves, round->waiting};
    if (!look->all && (idle || dense || others)) {
        return false;
    }
    hew_heap_walk_begin(&look->bin->walk, &look->bin->nonfull);
    look->bin->walker = hew_thread_token();
    if (look->bin->current != NULL) {
        consider(round, look->bin, look->bin->current);
    }
    return true;
}

/* Walks one part, after which other threads may take both locks.  False: the walk is over. */
static bool
walk_on(struct round *round)
{
    struct hew_bin *bin = round->look.bin;
    hew_mutex_lock(&hew_holes_lock);
    hew_mutex_lock(&bin->lock);
    out.count = out.range_count = 0;
    bool mine = round->began ? bin->walker == hew_thread_token() : (round->began = begin_walk(round));
    if (mine) {
        collect(round, bin);
    }
    bool more = mine && bin->walk.at != NULL && round->links != 0;
    hew_mutex_unlock(&bin->lock);
    more = (out.count == 0 || return_out(round)) && more;
    hew_mutex_unlock(&hew_holes_lock);
    return more;
}

bool
hew_holes_look(const struct hew_holes_look *look)
{
    struct round round = {.look = *look};
    while (walk_on(&round)) {
    }
    if (round.began) {
        hew_mutex_lock(&hew_holes_lock);
        hew_mutex_lock(&look->bin->lock);
        if (look->bin->walker == hew_thread_token()) {
            look->bin->walk.at = NULL;
        }
        hew_mutex_unlock(&look->bin->lock);
        look->seen->waiting = round.waiting;
        hew_mutex_unlock(&hew_holes_lock);
    }
    return round.waiting;
}

/* Between scans: returns whether the next scan will have anything to do. */
static bool
has_news(struct hew_bin *bin, const struct hew_holes_seen *seen)
{
    hew_mutex_lock(&hew_holes_lock);
    hew_mutex_lock(&bin->lock);
    bool news = seen->waiting || bin->counts.nmalloc + bin->counts.ndalloc != seen->moves;
    hew_mutex_unlock(&bin->lock);
    hew_mutex_unlock(&hew_holes_lock);
    return news;
}

/* Milliseconds from one scan to the next. */
static uint64_t
step_ms(uint64_t live_ms)
{
    return live_ms / LOOKS < LOOK_LEAST_MS ? LOOK_LEAST_MS : live_ms / LOOKS;
}

/* Returns how long ago the last scan was.  With `all`, or when a scan is due, records one now and returns 0. */
static uint64_t
since_look(struct hew_holes *holes, uint64_t now_ms, uint64_t step, bool all)
{
    hew_mutex_lock(&hew_holes_lock);
    uint64_t since = now_ms - holes->looked_ms;
    if (all || since >= step) {
        holes->looked_ms = now_ms;
        since = 0;
    }
    hew_mutex_unlock(&hew_holes_lock);
    return since;
}

uint64_t
hew_holes_return(struct hew_arena *arena, uint64_t now_ms, bool all)
{
    struct hew_page_heap *pages = arena->pages.heap;
    uint64_t live;
    if (!hew_arena_begin_trim(arena)) {
        return 0;
    }
    if (hew_arena_next_used(arena, 1) == HEW_CODES || !may_return(pages, all, &live)) {
        hew_arena_end_trim(arena);
        return 0;
    }
    uint64_t step = step_ms(live);
    uint64_t since = since_look(&arena->holes, now_ms, step, all);
    bool waiting = false;
    HEW_EACH_USED_BIN(arena, code)
    {
        struct hew_bin *bin = &arena->bins[code];
        struct hew_holes_seen *seen = &arena->holes.bins[code];
        struct hew_holes_look look = {pages, bin, seen, code, all, now_ms, live};
        waiting = (since == 0 ? hew_holes_look(&look) : has_news(bin, seen)) || waiting;
    }
    hew_arena_end_trim(arena);
    return waiting ? step - since : 0;
}

void
hew_holes_after_fork(struct hew_arena *arena)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        if (arena->bins[code].walk.at != NULL) {
            arena->bins[code].walk.at = NULL;
        }
    }
}
