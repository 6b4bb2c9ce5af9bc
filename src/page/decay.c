/* SPDX-License-Identifier: MIT */
/*
 * decay: the curve, kept as a backlog of the bytes freed in each epoch, weighted by age.  So old memory leaves on time,
 * however much has been freed since.
 */
#include "page/decay.h"

#include <string.h>

uint64_t
hew_decay_step_ms(const struct hew_decay *decay)
{
    uint64_t step = decay->decay_ms > 0 ? (uint64_t)decay->decay_ms / HEW_DECAY_EPOCHS : 0;
    return step == 0 ? 1 : step;
}

bool
hew_decay_is_due(const struct hew_decay *decay, size_t bytes, uint64_t now_ms)
{
    return decay->decay_ms > 0 ? now_ms >= decay->epoch_ms + hew_decay_step_ms(decay)
                               : decay->decay_ms == 0 && bytes != 0;
}

void
hew_decay_begin(struct hew_decay *decay, int64_t decay_ms, uint64_t now_ms)
{
    memset(decay, 0, sizeof *decay);
    decay->decay_ms = decay_ms;
    decay->epoch_ms = now_ms;
}

/* Epochs until nothing is left.  The clock ticks in milliseconds, so a shorter time has fewer epochs. */
static unsigned
epochs_to_live(const struct hew_decay *decay)
{
    return decay->decay_ms < HEW_DECAY_EPOCHS ? (unsigned)decay->decay_ms : HEW_DECAY_EPOCHS;
}

/* The part kept of `bytes` that were freed `age` epochs ago: 1 - 3t^2 + 2t^3 with t = age / epochs. */
static size_t
kept(size_t bytes, unsigned age, unsigned epochs)
{
    uint64_t t = age, n = epochs;
    uint64_t numerator = n * n * n - 3 * n * t * t + 2 * t * t * t;
    return (size_t)((bytes / (n * n * n)) * numerator + (bytes % (n * n * n)) * numerator / (n * n * n));
}

size_t
hew_decay_allowance(struct hew_decay *decay, size_t bytes, uint64_t now_ms)
{
    if (decay->decay_ms < 0) {
        return SIZE_MAX;
    }
    if (decay->decay_ms == 0) {
        return 0;
    }
    uint64_t passed = now_ms <= decay->epoch_ms ? 0 : (now_ms - decay->epoch_ms) / hew_decay_step_ms(decay);
    if (passed > 0) {
        size_t old = decay->left + decay->put_off, came = bytes > old ? bytes - old : 0;
        size_t shift = passed < HEW_DECAY_EPOCHS ? (size_t)passed : HEW_DECAY_EPOCHS;
        memmove(decay->backlog, decay->backlog + shift, (HEW_DECAY_EPOCHS - shift) * sizeof decay->backlog[0]);
        memset(decay->backlog + HEW_DECAY_EPOCHS - shift, 0, shift * sizeof decay->backlog[0]);
        /* These bytes were freed at unknown times in the epochs that have just passed.  They count as freed in the last
         * of them, so that none is returned early. */
        decay->backlog[HEW_DECAY_EPOCHS - 1] = came;
        decay->epoch_ms += passed * hew_decay_step_ms(decay);
    }
    size_t allowance = 0;
    unsigned epochs = epochs_to_live(decay);
    for (unsigned age = 1; age <= epochs; age++) {
        HEW_ASSERT(1,
                   kept(decay->backlog[HEW_DECAY_EPOCHS - age], age, epochs) <= decay->backlog[HEW_DECAY_EPOCHS - age]);
        allowance += kept(decay->backlog[HEW_DECAY_EPOCHS - age], age, epochs);
    }
    if (passed > 0) {
        decay->left = bytes < allowance ? bytes : allowance;
        decay->put_off = 0;
        HEW_ASSERT(1, decay->left <= bytes && now_ms - decay->epoch_ms < hew_decay_step_ms(decay));
        return allowance;
    }
    size_t old = decay->left + decay->put_off;
    return bytes > old ? allowance + (bytes - old) : allowance;
}
