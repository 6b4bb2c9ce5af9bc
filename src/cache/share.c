/* SPDX-License-Identifier: MIT */
/*
 * share: a trial is four states of one thread, each a function here; who is not at one pays a compare at every sixteenth miss and at
 * each period.
 */
#include "cache/share.h"

#include "base/options.h"
#include "base/steps.h"
#include "cache/budget.h"
#include "cache/work.h"
#include "os/check.h"
#include "os/clock.h"
#include "page/bound.h"

#define OFTEN_NS 4000u                  /* who misses less often than this does not gain enough */
#define REST_LEAST 2u                   /* windows before any trial, */
#define REST_MOST 4096u                 /* and the most beyond them, after many that have not paid */
#define PIECE_OPERATIONS 256u           /* at least */
#define SETTLE_PIECES 48u               /* until the magazines have grown */
#define PIECES_USED 12u                 /* of HEW_SHARE_PIECES: the slowest may have been interrupted */
#define PIECE_MOST ((uint64_t)1 << 24)  /* more: the counts began anew */
#define LITTLE_BYTES ((size_t)64 << 10) /* less is not worth a trial, and goes back at once */
#define ONE_PART 3u                     /* of the reserve: no thread borrows more */
#define IDLE_PART 4u       /* of its share: who holds less than that returns half of what it has borrowed */
#define FEWER_PERCENT 80u  /* of the misses before may be left, */
#define FASTER_PERCENT 95u /* and of the time */
#define MILLION UINT64_C(1000000)

struct hew_share_counts hew_share_counts;

static bool
is_allowed(const struct hew_cache *cache)
{
    return hew_options.tuning != HEW_TUNING_OFF && !cache->direct;
}

static void
count_one(_Atomic uint64_t *number)
{
    atomic_fetch_add_explicit(number, 1, memory_order_relaxed);
}

/* What there is to lend to this thread. */
static size_t
left_for(const struct hew_cache *cache)
{
    size_t lent = atomic_load_explicit(&hew_share_counts.lent, memory_order_relaxed), reserve = hew_budget_reserve();
    size_t part = hew_budget_least(reserve / ONE_PART, HEW_SHARE_MOST);
    return hew_budget_least(lent < reserve ? reserve - lent : 0, cache->extra < part ? part - cache->extra : 0);
}

static bool
borrow(struct hew_cache *cache, size_t bytes)
{
    size_t before = atomic_fetch_add_explicit(&hew_share_counts.lent, bytes, memory_order_relaxed);
    if (before + bytes > hew_budget_reserve()) {
        atomic_fetch_sub_explicit(&hew_share_counts.lent, bytes, memory_order_relaxed);
        return false;
    }
    cache->extra += bytes;
    cache->share += bytes;
    return true;
}

/* Magazines that hold more than the share by then are halved as the thread looks after them. */
static void
give_back(struct hew_cache *cache, size_t bytes)
{
    HEW_ASSERT(1, bytes <= cache->extra);
    cache->extra -= bytes;
    cache->share -= bytes < cache->share ? bytes : cache->share;
    atomic_fetch_sub_explicit(&hew_share_counts.lent, bytes, memory_order_relaxed);
}

static void
begin_rest(struct hew_share_trial *trial, bool has_paid)
{
    unsigned next = has_paid ? 0 : trial->rest == 0 ? REST_LEAST : trial->rest * 2u;
    trial->rest = (uint16_t)(next < REST_MOST ? next : REST_MOST);
    trial->windows = 0;
    trial->began_ns = 0;
    trial->state = HEW_SHARE_RESTS;
}

static void
begin_pieces(struct hew_cache *cache, enum hew_share_state state, uint64_t now_ns)
{
    struct hew_share_trial *trial = &cache->trial;
    trial->state = (uint8_t)state;
    trial->count = 0;
    trial->operations = 0;
    trial->misses = cache->misses;
    trial->began_ns = now_ns;
    trial->began_operations = hew_work_of(cache);
}

/* Whether a window of misses ends here, and the thread has rested for as many as it should.  One that is new rests, too. */
static bool
has_rested(struct hew_cache *cache)
{
    struct hew_share_trial *trial = &cache->trial;
    if (cache->misses % HEW_SHARE_WINDOW != 0 || trial->windows++ < trial->rest + REST_LEAST) {
        return false;
    }
    trial->windows = (uint16_t)(trial->rest + REST_LEAST);
    return true;
}

/* It missed often in the window that ends, and for want of room: begins to watch. */
static HEW_NOINLINE void
look_rested(struct hew_cache *cache)
{
    struct hew_share_trial *trial = &cache->trial;
    uint64_t now_ns = hew_clock_ns(), took = now_ns - trial->began_ns;
    bool often = took < (uint64_t)OFTEN_NS * HEW_SHARE_WINDOW;
    if (often && trial->starved && !HEW_OPTION_IS_CHOSEN(cache_room)) {
        begin_pieces(cache, HEW_SHARE_WATCHES, now_ns);
    }
    trial->began_ns = now_ns;
    trial->starved = false;
}

/* What lies idle of what was borrowed goes back by halves. */
static void
return_unused(struct hew_cache *cache)
{
    if (cache->extra != 0 && cache->granted < cache->share / IDLE_PART) {
        give_back(cache, cache->extra < LITTLE_BYTES ? cache->extra : cache->extra / 2);
    }
}

/* The time of 1,024 operations, by the pieces that took least for each. */
static uint64_t
time_of_pieces(struct hew_share_trial *trial)
{
    uint64_t ns = 0, operations = 0;
    for (unsigned at = 0; at < PIECES_USED; at++) {
        unsigned least = at;
        for (unsigned other = at + 1; other < HEW_SHARE_PIECES; other++) {
            if ((uint64_t)trial->pieces[other].ns * trial->pieces[least].operations <
                (uint64_t)trial->pieces[least].ns * trial->pieces[other].operations) {
                least = other;
            }
        }
        struct hew_share_piece piece = trial->pieces[least];
        trial->pieces[least] = trial->pieces[at];
        trial->pieces[at] = piece;
        ns += piece.ns;
        operations += piece.operations;
    }
    return ns * 1024 / operations;
}

/* Misses in 65,536 operations of the pieces. */
static uint32_t
misses_of_pieces(const struct hew_cache *cache)
{
    uint64_t misses = (uint16_t)(cache->misses - cache->trial.misses);
    return (uint32_t)((misses << 16) / cache->trial.operations);
}

/* The share is `bytes` larger than before, or would be; `after_ns` is the time of 1,024 operations with that, 0: nobody knows. */
static void
tell_step(const struct hew_cache *cache, enum hew_step_outcome outcome, size_t bytes, uint64_t after_ns)
{
    const struct hew_share_trial *trial = &cache->trial;
    size_t usual = hew_budget_share(), before = usual + cache->extra - (outcome == HEW_STEP_THOUGHT ? 0 : bytes);
    usual = usual == 0 ? 1 : usual; /* near a limit of memory */
    hew_steps_tell(&(struct hew_step){
        .at_ms = hew_clock_ns() / 1000000,
        .lever = HEW_STEP_CACHE_ROOM,
        .outcome = outcome,
        .before = before * 100 / usual,
        .after = (before + bytes) * 100 / usual,
        .reason_before = trial->before_misses * MILLION >> 16,
        .reason_after = after_ns == 0 ? 0 : misses_of_pieces(cache) * MILLION >> 16,
        .effect_before = trial->before_ns * 1000 / 1024,
        .effect_after = after_ns * 1000 / 1024,
    });
}

/* The thread has told how it does without more room: gets that, if there is some to borrow. */
static void
begin_trial(struct hew_cache *cache)
{
    struct hew_share_trial *trial = &cache->trial;
    trial->before_ns = time_of_pieces(trial);
    trial->before_misses = misses_of_pieces(cache);
    size_t wanted = hew_budget_least(hew_budget_share() + cache->extra, left_for(cache)); /* twice as much as now */
    bool observes = hew_options.tuning == HEW_TUNING_OBSERVE;
    bool may_try = wanted >= LITTLE_BYTES && (observes || borrow(cache, wanted));
    if (may_try) {
        count_one(&hew_share_counts.trials);
    }
    trial->tried = (uint32_t)wanted;
    if (observes && may_try) {
        tell_step(cache, HEW_STEP_THOUGHT, wanted, 0);
    }
    if (observes || !may_try) {
        begin_rest(trial, false);
        return;
    }
    begin_pieces(cache, HEW_SHARE_SETTLES, trial->began_ns);
}

static void
end_trial(struct hew_cache *cache)
{
    struct hew_share_trial *trial = &cache->trial;
    bool fewer = (uint64_t)misses_of_pieces(cache) * 100 <= (uint64_t)trial->before_misses * FEWER_PERCENT;
    uint64_t after_ns = time_of_pieces(trial);
    bool pays = fewer && after_ns * 100 <= trial->before_ns * FASTER_PERCENT;
    tell_step(cache, pays ? HEW_STEP_KEPT : HEW_STEP_UNDONE, trial->tried, after_ns);
    if (!pays) {
        give_back(cache, trial->tried);
    }
    count_one(pays ? &hew_share_counts.kept : &hew_share_counts.refused);
    begin_rest(trial, pays);
}

/* A piece ends where enough has been done since it began. */
static HEW_NOINLINE void
look_at_work(struct hew_cache *cache)
{
    struct hew_share_trial *trial = &cache->trial;
    uint64_t operations = hew_work_of(cache), done = operations - trial->began_operations;
    if (done < PIECE_OPERATIONS) {
        return;
    }
    uint64_t now_ns = hew_clock_ns(), took = now_ns - trial->began_ns;
    trial->began_ns = now_ns;
    trial->began_operations = operations;
    if (done > PIECE_MOST) { /* it tells nothing */
        return;
    }
    trial->pieces[trial->count % HEW_SHARE_PIECES] =
        (struct hew_share_piece){took < UINT32_MAX ? (uint32_t)took : UINT32_MAX, (uint32_t)done};
    trial->operations += done;
    trial->count++;
    if (trial->state == HEW_SHARE_SETTLES) {
        if (trial->count == SETTLE_PIECES) {
            begin_pieces(cache, HEW_SHARE_JUDGES, now_ns);
        }
    } else if (trial->count == HEW_SHARE_PIECES) {
        if (trial->state == HEW_SHARE_WATCHES) {
            begin_trial(cache);
        } else {
            end_trial(cache);
        }
    }
}

void
hew_share_note_misses(struct hew_cache *cache)
{
    hew_work_tell(cache);
    if (!is_allowed(cache)) {
        return;
    }
    if (!hew_page_bound_is_far(0)) { /* near a limit of memory nobody borrows */
        hew_share_end(cache);
    } else if (cache->trial.state != HEW_SHARE_RESTS) {
        look_at_work(cache);
    } else if (has_rested(cache)) {
        look_rested(cache);
    }
}

void
hew_share_note_period(struct hew_cache *cache)
{
    if (!hew_page_bound_is_far(0)) {
        hew_share_end(cache);
    } else if (cache->trial.state != HEW_SHARE_RESTS) {
        look_at_work(cache);
    } else {
        return_unused(cache);
    }
}

HEW_NOINLINE void
hew_share_end(struct hew_cache *cache)
{
    if (!hew_share_is_at_work(cache)) {
        return;
    }
    if (cache->trial.state == HEW_SHARE_SETTLES || cache->trial.state == HEW_SHARE_JUDGES) {
        count_one(&hew_share_counts.refused); /* what cannot be judged is not kept */
        tell_step(cache, HEW_STEP_UNDONE, cache->trial.tried, 0);
    }
    give_back(cache, cache->extra);
    begin_rest(&cache->trial, true);
}

void
hew_share_after_fork(const struct hew_cache *own)
{
    size_t lent = own == NULL ? 0 : own->extra;
    atomic_store_explicit(&hew_share_counts.lent, lent, memory_order_relaxed);
    atomic_store_explicit(&hew_share_counts.trials, 0, memory_order_relaxed);
    atomic_store_explicit(&hew_share_counts.kept, 0, memory_order_relaxed);
    atomic_store_explicit(&hew_share_counts.refused, 0, memory_order_relaxed);
}
