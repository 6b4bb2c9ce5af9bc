/* SPDX-License-Identifier: MIT */
/* oom_layers: the alloc layer and those below it, in every build.  Nothing may be left. */
#include "scenario.h"

#include "layers_alloc.h"

#include <string.h>

static void *
calloc_here(size_t count, size_t size)
{
    return count * size > HEW_SMALL_MAX ? hew_alloc_large(count * size, true)
                                        : hew_alloc_aligned(count * size, 16, true);
}

static void *
aligned_here(size_t alignment, size_t size)
{
    return hew_alloc_aligned(size, alignment, false);
}

/* The settings are known by heart: their parser is two layers up. */
static void
begin(const char *settings)
{
    hew_options.narenas = 2;
    if (settings != NULL && strstr(settings, "dirty_decay_ms:0") != NULL) {
        hew_options.dirty_decay_ms = 0;
        hew_options.muzzy_decay_ms = 100;
        hew_options.retain = false;
        hew_options.thp = HEW_THP_ALWAYS;
    }
    if (settings != NULL && strstr(settings, "dss:disabled") != NULL) {
        hew_options.dss = HEW_DSS_DISABLED;
    }
    if (settings != NULL && strstr(settings, "dss:primary") != NULL) {
        hew_options.dss = HEW_DSS_PRIMARY;
        layers_without_caches = true;
    }
    if (!layers_boot()) {
        oom_wrong("the maps can be made");
    }
}

static size_t
left(void)
{
    return layers_settled() ? 0 : 1;
}

int
main(void)
{
    static const struct oom_variant layers = {.malloc = layers_malloc,
                                              .calloc = calloc_here,
                                              .realloc = hew_realloc_object,
                                              .aligned = aligned_here,
                                              .free = layers_free,
                                              .begin = begin,
                                              .end_thread = layers_end_thread,
                                              .left = left};
    return oom_run(&layers);
}
