/* SPDX-License-Identifier: MIT */
/*
 * request_read: requests that only read: the heap profile, the sampled objects, the threads.
 */
#include "control/remote/request.h"

#include "base/options.h"
#include "base/text.h"
#include "cache/count.h"
#include "cache/thread.h"
#include "os/clock.h"
#include "os/file.h"
#include "prof/dump.h"
#include "prof/profiler.h"
#include "prof/samples.h"

static bool
put_file(struct hew_reply *reply, int file)
{
    for (uint64_t offset = 0;;) {
        char *room = hew_reply_room(reply, HEW_FILE_PIECE);
        long got = room == NULL ? -1 : hew_file_read_piece(file, offset, room, HEW_FILE_PIECE);
        if (got <= 0) {
            return got == 0;
        }
        hew_reply_filled(reply, (size_t)got);
        offset += (uint64_t)got;
    }
}

void
hew_request_profile(struct hew_reply *reply)
{
    char path[HEW_FILE_OWN_PATH];
    if (!hew_options.prof) {
        hew_reply_refuse(reply, "not-permitted", "the process has no heap profile: start it with prof:true", "");
        return;
    }
    int file = hew_file_in_memory(path);
    bool written = file >= 0 && hew_dump_write_file(file, path) && put_file(reply, file);
    if (file >= 0) {
        hew_file_close(file);
    }
    if (written) {
        hew_reply_end(reply, hew_options.prof_format == HEW_PROF_FORMAT_PPROF ? "pprof" : "heap_v2");
    } else {
        hew_reply_refuse(reply, "failed",
                         "the profile could not be written: the process has no memory for it, or no descriptor left",
                         "");
    }
}

/* Writes the `@` of a stack, and its frames. */
static void
put_stack(struct hew_reply *reply, const struct hew_sample *row)
{
    char place[32];
    struct hew_text text;
    hew_reply_put(reply, "@");
    for (unsigned i = 0; i < row->depth; i++) {
        hew_text_begin(&text, place, sizeof place);
        hew_text_put(&text, " ");
        hew_text_put_hex(&text, row->frames[i]);
        hew_reply_put_bytes(reply, place, text.length);
    }
    hew_reply_put(reply, "\n");
}

/* The program chooses the name: characters that would end the line are skipped. */
static void
put_name(struct hew_text *text, const char *name)
{
    for (; *name != '\0'; name++) {
        char letter = (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name;
        hew_text_put_bytes(text, &letter, 1);
    }
}

static void
put_row(struct hew_reply *reply, const struct hew_sample *row, uint64_t now)
{
    char line[256];
    struct hew_text text;
    uint64_t age = now > row->time_ns ? now - row->time_ns : 0;
    const uint64_t columns[] = {
        row->requested,         row->usable,    row->weight, age, row->thread, row->slab.regions,
        row->slab.free_regions, row->slab.bytes};
    hew_text_begin(&text, line, sizeof line);
    for (unsigned column = 0; column < sizeof columns / sizeof columns[0]; column++) {
        hew_text_put(&text, " ");
        hew_text_put_unsigned(&text, columns[column]);
    }
    hew_text_put(&text, " ");
    put_name(&text, row->name);
    hew_text_put(&text, "\n");
    hew_reply_put_bytes(reply, line, text.length);
}

void
hew_request_samples(struct hew_reply *reply)
{
    struct hew_samples samples;
    if (!hew_options.prof) {
        hew_reply_refuse(reply, "not-permitted", "the process has no heap profile: start it with prof:true", "");
        return;
    }
    if (!hew_samples_take(&samples)) {
        hew_reply_refuse(reply, "no-memory", "there is no memory for the samples", "");
        return;
    }
    const struct hew_sample *before = NULL;
    uint64_t now = hew_clock_ns();
    for (size_t i = 0; i < samples.count; i++) {
        const struct hew_sample *row = &samples.rows[i];
        if (before == NULL || before->frames != row->frames || before->depth != row->depth) {
            put_stack(reply, row);
        }
        before = row;
        put_row(reply, row, now);
    }
    hew_samples_give(&samples);
    hew_reply_end(reply, "text");
}

/* hew_caches_lock held: no thread starts, ends or changes its arena meanwhile, so no bound arena is destroyed. */
static void
put_thread(const struct hew_cache *cache, void *reply)
{
    char line[96];
    struct hew_text text;
    uint64_t requests = 0, held = hew_count_apart(cache);
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
