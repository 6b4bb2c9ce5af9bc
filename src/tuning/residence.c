/* SPDX-License-Identifier: MIT */
/* residence: sums fade with the time that memory stays, so that what is judged is some of the last such times. */
#include "tuning/residence.h"

#include "base/size_class.h"
#include "tuning/trial.h"

#define HORIZON 4u      /* times that memory stays: older windows have faded */
#define WORTH_PPM 5000u /* of the processor's time: less lost is left alone */
#define SOON_PART 2u    /* of what went back: so much wanted again is a reason to keep it longer, */
#define SELDOM_PART 8u  /* less than so much one to go back */
#define LEAST_BYTES (UINT64_C(1) << 20)
#define TURNS_MOST 10u

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
    residence->soon = faded(residence->soon, window->passed_ms, horizon) +
                      hew_refaults_taken(&residence->refaults, window->now_ms, window->taken, stays_ms);
    hew_refaults_returned(&residence->refaults, window->now_ms, window->returned);
}

static int
direction_due(const struct hew_residence *residence, const struct hew_residence_window *window)
{
    uint64_t lost = residence->soon / HEW_PAGE * window->lost_per_page;
    bool much = residence->returned >= LEAST_BYTES;
    if (much && residence->soon >= residence->returned / SOON_PART && window->may_grow &&
        hew_trial_ppm(lost, residence->cpu_ns) >= WORTH_PPM && residence->position < HEW_RESIDENCE_HIGHEST) {
        return 1;
    }
    return much && residence->soon < residence->returned / SELDOM_PART && residence->position > 0 ? -1 : 0;
}

static void
residence_rest(struct hew_residence *residence, uint64_t usual_ms)
{
    residence->rest_ms = (usual_ms << residence->position) << residence->turns;
}

int
hew_residence_step(struct hew_residence *residence, const struct hew_residence_window *window, uint64_t usual_ms)
{
    uint64_t stays_ms = usual_ms << residence->position;
    residence_add(residence, window, stays_ms);
    residence->rest_ms -= residence->rest_ms < window->passed_ms ? residence->rest_ms : window->passed_ms;
    int direction = residence->rest_ms == 0 ? direction_due(residence, window) : 0;
    if (direction == 0) {
        return 0;
    }
    residence->turns += residence->last_direction == -direction && residence->turns < TURNS_MOST;
    residence->last_direction = direction;
    residence->position += direction;
    residence_rest(residence, usual_ms);
    residence->returned = residence->soon = residence->cpu_ns = 0; /* what comes now is judged by the new time */
    return direction;
}

void
hew_residence_forgo(struct hew_residence *residence, uint64_t usual_ms)
{
    residence->position -= residence->last_direction;
    residence->last_direction = 0;
    residence->turns += residence->turns < TURNS_MOST;
    residence_rest(residence, usual_ms);
}
