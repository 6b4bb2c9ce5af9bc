/* SPDX-License-Identifier: MIT */
#include "control/remote/request.h"

#include "base/options.h"
#include "base/text.h"
#include "os/clock.h"
#include "prof/profiler.h"
#include "prof/samples.h"

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
