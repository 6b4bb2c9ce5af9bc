/* SPDX-License-Identifier: MIT */
#include "control/totals.h"

#include "cache/thread.h"
#include "meta/memory.h"
#include "slab/arena.h"

static void
add_bins(struct hew_totals *totals, struct hew_arena *arena, size_t *slab_bytes)
{
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        struct hew_bin *bin = &arena->bins[code];
        hew_mutex_lock(&bin->lock);
        totals->allocated += (size_t)(bin->counts.nmalloc - bin->counts.ndalloc) * hew_code_size(code);
        *slab_bytes += bin->counts.slabs * hew_slab_shapes[code].pages * HEW_PAGE;
        hew_mutex_unlock(&bin->lock);
    }
}

struct hew_totals
hew_totals_read(void)
{
    struct hew_totals totals = {0};
    size_t slab_bytes = 0;
    HEW_EACH_ARENA(arena) {
        struct hew_page_counts counts = hew_page_counts(&arena->pages);
        add_bins(&totals, arena, &slab_bytes);
        totals.arenas++;
        totals.active += counts.active;
        totals.dirty += counts.dirty;
        totals.muzzy += counts.muzzy;
        totals.retained += counts.retained;
        totals.mapped += counts.mapped;
        totals.purged += counts.dirty_purged + counts.muzzy_purged;
    }
    totals.allocated += totals.active > slab_bytes ? totals.active - slab_bytes : 0;
    totals.cached = hew_thread_cached_bytes();
    totals.metadata = hew_meta_usage().used;
    totals.threads = atomic_load_explicit(&hew_caches_alive, memory_order_relaxed);
    return totals;
}

static void
line(struct hew_text *text, const char *name, uint64_t value)
{
    hew_text_put(text, name);
    hew_text_put_unsigned(text, value);
    hew_text_put(text, "\n");
}

void
hew_totals_describe(struct hew_text *text)
{
    struct hew_totals totals = hew_totals_read();
    hew_text_put(text, "hew: bytes\n");
    line(text, "  allocated        ", totals.allocated);
    line(text, "  in thread caches ", totals.cached);
    line(text, "  active pages     ", totals.active);
    line(text, "  dirty pages      ", totals.dirty);
    line(text, "  muzzy pages      ", totals.muzzy);
    line(text, "  retained         ", totals.retained);
    line(text, "  mapped           ", totals.mapped);
    line(text, "  metadata         ", totals.metadata);
    line(text, "  purged so far    ", totals.purged);
    line(text, "arenas             ", totals.arenas);
    line(text, "threads            ", totals.threads);
}
