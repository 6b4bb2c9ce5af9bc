/* SPDX-License-Identifier: MIT */
#include "control/remote/request.h"

#include "base/text.h"
#include "cache/count.h"
#include "cache/thread.h"

/* hew_caches_lock held: no thread starts, ends or changes its arena meanwhile, so no bound arena is destroyed. */
static void
put_thread(const struct hew_cache *cache, void *reply)
{
    char line[96];
    struct hew_text text;
    uint64_t requests = 0, held = 0;
    if (cache->thread == 0) { /* an explicit cache */
        return;
    }
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        requests += hew_count_requests(cache, code);
        held += hew_count_held(cache, code);
    }
    const uint64_t columns[] = {cache->thread, cache->arena->index, requests, held};
    hew_text_begin(&text, line, sizeof line);
    for (unsigned column = 0; column < sizeof columns / sizeof columns[0]; column++) {
        hew_text_put(&text, column == 0 ? "" : " ");
        hew_text_put_unsigned(&text, columns[column]);
    }
    hew_text_put(&text, "\n");
    hew_reply_put_bytes(reply, line, text.length);
}

void
hew_request_threads(struct hew_reply *reply)
{
    hew_thread_each(put_thread, reply);
    hew_reply_end(reply, "text");
}
