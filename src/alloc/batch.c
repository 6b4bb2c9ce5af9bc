/* SPDX-License-Identifier: MIT */
/* batch: calls the single request in a loop, so that statistics, samples and out-of-memory handling are the same. */
#include "alloc/batch.h"

#include "alloc/flags.h"

size_t
hew_batch_alloc(const struct hew_batch *batch)
{
    size_t done = 0;
    while (done < batch->count && (batch->objects[done] = hew_flags_alloc(batch->size, batch->flags)) != NULL) {
        done++;
    }
    return done;
}
