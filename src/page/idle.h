/* SPDX-License-Identifier: MIT */
/*
 * idle: how much memory has lain idle in page heaps all along: dirty, so resident anyway, and wanted by nobody.
 *
 * Owns      the sum of what the heaps of automatic arenas have told, and the fewest it was of late.
 * Promises  relaxed numbers, hints.  A heap tells whole pieces, and only once two more have come or one is gone, so that seldom two
 *           CPUs write to one word.  "Of late" is counted in what is told, not in time: a heap at rest keeps what it has told, and no
 *           clock is read.
 * Called    under the lock of the heap whose stock it is, at the end of what it does: amid a merge an extent is in no stock for a moment,
 *           and is idle all the same.
 * Not here  who uses it as room: cache/budget.h.
 * Why       docs/decisions/0079-idle-room.md.
 */
#ifndef HEW_PAGE_IDLE_H
#define HEW_PAGE_IDLE_H

#include "page/stock.h"

#include <stdatomic.h>

#define HEW_IDLE_PIECE ((size_t)64 << 10)
#define HEW_IDLE_PERIOD 1024u /* pieces told; the fewest are those since the period before the present one began */

extern _Atomic size_t hew_idle_least;

/* What the stock holds differs from what was told of it. */
void hew_idle_tell(struct hew_stock *stock);

/* The stock's bytes may have changed. */
HEW_INLINE void
hew_idle_note(struct hew_stock *stock)
{
    if (stock->tells && stock->bytes - stock->told >= 2 * HEW_IDLE_PIECE) { /* fewer than told: it wraps */
        hew_idle_tell(stock);
    }
}

#endif
