/* SPDX-License-Identifier: MIT */
/* residence: sums fade with the time that memory stays, so that what is judged is some of the last such times. */
#include "tuning/residence.h"

#include "base/size_class.h"

#define HORIZON 4u      /* times that memory stays: older windows have faded */
#define WORTH_PPM 5000u /* of the processor's time: less lost is left alone */
#define SOON_PART 2u    /* of what went back: so much wanted again is a reason to keep it longer, */
#define SELDOM_PART 8u  /* less than so much one to go back */
#define LEAST_BYTES (UINT64_C(1) << 20)
#define SETTLE 1u        /* times that memory stays, after a step, */
#define JUDGE 2u         /* and that it is judged by, at least */
#define LEFT_PERCENT 75u /* of the part that had gone back before a step: no more may have gone after it */
#define TURNS_MOST 10u
#define PPM UINT64_C(1000000)

uint32_t
hew_residence_ppm(uint64_t part, uint64_t whole)
{
    if (part >= whole) {
        return part == 0 ? 0 : (uint32_t)PPM;
    }
    return (uint32_t)(whole < UINT64_MAX / PPM ? part * PPM / whole : part / (whole / PPM));
}

static uint64_t
faded(uint64_t sum, uint64_t passed_ms, uint64_t horizon_ms)
{
    return passed_ms >= horizon_ms ? 0 : sum - sum / horizon_ms * passed_ms;
}

static void
residence_add(struct hew_residence *residence, const struct hew_residence_window *window, uint64_t stays_ms)
{
    uint64_t horizon = stays_ms * HORIZON;
    residence->returned = faded(residence->returned, window->passed_ms, horizon) + window->returned;
    residence->cpu_ns = faded(residence->cpu_ns, window->passed_ms, horizon) + window->cpu_ns;
    struct hew_refaults_again more = hew_refaults_taken(&residence->refaults, window->now_ms, window->fresh, stays_ms);
    residence->again = faded(residence->again, window->passed_ms, horizon) + more.ever;
    residence->soon = faded(residence->soon, window->passed_ms, horizon) + more.soon;
    /* Growth is left out: no time would have kept that. */
    residence->wanted =
        faded(residence->wanted, window->passed_ms, horizon) + window->taken - window->fresh + more.ever;
    hew_refaults_returned(&residence->refaults, window->now_ms, window->returned);
}

/* What comes from here on is judged by the time in force. */
static void
begin_sums(struct hew_residence *residence)
{
    residence->returned = residence->wanted = residence->again = residence->soon = residence->cpu_ns = 0;
}

static void
note_sums(struct hew_residence *residence, unsigned after)
{
    residence->soon_ppm[after] = hew_residence_ppm(residence->soon, residence->returned);
    residence->again_ppm[after] = hew_residence_ppm(residence->again, residence->wanted);
}

static void
begin_rest(struct hew_residence *residence, uint64_t usual_ms)
{
    residence->state = HEW_RESIDENCE_RESTS;
    residence->left_ms = hew_residence_time(residence, usual_ms) << residence->turns;
}

static void
lengthen_rests(struct hew_residence *residence)
{
    residence->turns += residence->turns < TURNS_MOST;
}

/* Of the processor time, what it took to have pages again. */
static uint32_t
lost_ppm(const struct hew_residence *residence, const struct hew_residence_window *window)
{
    return hew_residence_ppm(residence->again / HEW_PAGE * window->lost_per_page, residence->cpu_ns);
}

static int
direction_due(const struct hew_residence *residence, const struct hew_residence_window *window)
{
    bool much = residence->returned >= LEAST_BYTES;
    if (much && residence->soon >= residence->returned / SOON_PART && window->may_grow &&
        lost_ppm(residence, window) >= WORTH_PPM && residence->position < HEW_RESIDENCE_HIGHEST) {
        return 1;
    }
    return much && residence->soon < residence->returned / SELDOM_PART && residence->position > 0 ? -1 : 0;
}

static enum hew_residence_outcome
look_rested(struct hew_residence *residence, const struct hew_residence_window *window, uint64_t usual_ms)
{
    note_sums(residence, 0);
    int direction = direction_due(residence, window);
    if (direction == 0) {
        return HEW_RESIDENCE_NOTHING;
    }
    if (residence->last_direction == -direction) {
        lengthen_rests(residence);
    }
    residence->last_direction = direction;
    residence->position += direction;
    residence->soon_ppm[1] = residence->again_ppm[1] = 0;
    residence->wanted_before = residence->wanted;
    if (direction < 0) {
        begin_rest(residence, usual_ms);
        begin_sums(residence);
        return HEW_RESIDENCE_BACK;
    }
    residence->state = HEW_RESIDENCE_SETTLES;
    residence->left_ms = hew_residence_time(residence, usual_ms) * SETTLE;
    return HEW_RESIDENCE_TRIED;
}

static enum hew_residence_outcome
judge(struct hew_residence *residence, uint64_t usual_ms)
{
    note_sums(residence, 1);
    bool pays = (uint64_t)residence->again_ppm[1] * 100 <= (uint64_t)residence->again_ppm[0] * LEFT_PERCENT;
    if (pays) {
        begin_rest(residence, usual_ms);
        begin_sums(residence);
        return HEW_RESIDENCE_KEPT;
    }
    hew_residence_forgo(residence, usual_ms);
    return HEW_RESIDENCE_UNDONE;
}

enum hew_residence_outcome
hew_residence_step(struct hew_residence *residence, const struct hew_residence_window *window, uint64_t usual_ms)
{
    residence_add(residence, window, hew_residence_time(residence, usual_ms));
    residence->left_ms -= residence->left_ms < window->passed_ms ? residence->left_ms : window->passed_ms;
    if (residence->left_ms != 0) {
        return HEW_RESIDENCE_NOTHING;
    }
    if (residence->state == HEW_RESIDENCE_RESTS) {
        return look_rested(residence, window, usual_ms);
    }
    if (residence->state == HEW_RESIDENCE_SETTLES) {
        begin_sums(residence);
        residence->state = HEW_RESIDENCE_JUDGES;
        residence->left_ms = hew_residence_time(residence, usual_ms) * JUDGE;
        return HEW_RESIDENCE_NOTHING;
    }
    bool enough = residence->wanted >= residence->wanted_before; /* which was not 0: some of it was wanted again */
    return enough ? judge(residence, usual_ms) : HEW_RESIDENCE_NOTHING;
}

void
hew_residence_forgo(struct hew_residence *residence, uint64_t usual_ms)
{
    residence->position -= residence->last_direction;
    residence->last_direction = 0;
    lengthen_rests(residence);
    begin_rest(residence, usual_ms);
    begin_sums(residence);
}
