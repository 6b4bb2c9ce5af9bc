/* SPDX-License-Identifier: MIT */
/* write: see write.h.  Moments and intervals alternate, so each is one line, which is a JSON document of its own. */
#include "profile/write.h"

#include <inttypes.h>

static void
write_sum(FILE *to, const struct profile_state *state, const struct profile_sum *sum)
{
    fprintf(to, "%" PRIu64 ",%" PRIu64, (sum->count + state->unit / 2) / state->unit, sum->bytes);
}

static void
write_account(FILE *to, const char *between, const struct profile_state *state, uint32_t node)
{
    const struct profile_account *account = &state->accounts[node];

    fprintf(to, "%s%" PRIu32 ",", between, node);
    write_sum(to, state, &account->made);
    fputc(',', to);
    write_sum(to, state, &account->live);
    fputc(',', to);
    write_sum(to, state, &account->temporary);
}

/* "NAME":[count,bytes,...] up to the last nonzero one. */
static void
write_sums(FILE *to, const struct profile_state *state, const char *name, const struct profile_sum *sums, size_t count)
{
    while (count > 0 && sums[count - 1].count == 0) {
        count--;
    }
    fprintf(to, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? "" : ",", to);
        write_sum(to, state, &sums[i]);
    }
    fputc(']', to);
}

static void
write_totals(FILE *to, const struct profile_state *state)
{
    fprintf(to, ",\"operation\":%" PRIu64 ",\"totals\":[", state->operations);
    write_sum(to, state, &state->all.made);
    fputc(',', to);
    write_sum(to, state, &state->all.live);
    fputc(',', to);
    write_sum(to, state, &state->all.temporary);
    fputc(']', to);
}

/* Of each thread that has one: its number, its number in the kernel, whether it ended, its name as hexadecimal bytes. */
static void
write_threads(FILE *to, const struct profile_state *state)
{
    const struct hew_trace *trace = state->trace;
    const char *between = "";

    fputs("{\"kind\":\"threads\",\"threads\":[", to);
    for (uint32_t thread = 0; thread < trace->thread_count; thread++) {
        const struct profile_thread *named = &state->named[thread];
        if (named->tid == 0) {
            continue;
        }
        fprintf(to, "%s[%" PRIu32 ",%" PRIu32 ",%d,\"", between, trace->names == NULL ? thread : trace->names[thread],
                named->tid, named->ended);
        for (const char *at = named->name; *at != '\0'; at++) {
            fprintf(to, "%02x", (unsigned)(unsigned char)*at);
        }
        fputs("\"]", to);
        between = ",";
    }
    fputs("]}\n", to);
}

void
profile_write_begin(struct profile_writer *writer, const struct profile_state *first, const struct profile_parts *parts)
{
    const struct hew_trace *trace = first->trace;

    fprintf(writer->to,
            "{\"kind\":\"trace\",\"pid\":%" PRIu32 ",\"started\":%" PRIu64 ",\"flags\":%" PRIu32 ",\"stacks\":%" PRIu32
            ",\"sample_bytes\":%" PRIu64 ",\"threads\":%" PRIu32 ",\"thread_sampling\":%" PRIu32 ",\"damaged\":%" PRIu32
            ",\"missing\":%" PRIu32 ",\"operations\":%" PRIu64 ",\"microseconds\":%" PRIu64 ",\"within\":%" PRIu64
            ",\"part_length\":%" PRIu64 ",\"parts\":%" PRIu32 ",\"peak\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]}\n",
            trace->header.pid, trace->header.started, trace->header.flags, trace->header.stack_sampling,
            trace->header.sample_bytes, trace->thread_count, trace->header.thread_sampling, trace->damaged,
            trace->missing, profile_state_operations(first), first->time, first->within,
            UINT64_C(1) << parts->lg_length, parts->count, first->peak_time, first->all.most,
            first->peak_objects / first->unit);
    write_threads(writer->to, first);
    fputs("{\"kind\":\"nodes\",\"nodes\":[", writer->to);
    for (uint32_t node = 1; node < trace->node_count; node++) {
        fprintf(writer->to, "%s%" PRIu64 ",%" PRIu32, node == 1 ? "" : ",", trace->nodes[node].address,
                trace->nodes[node].parent);
    }
    fputs("]}\n", writer->to);
}

void
profile_write_moment(struct profile_writer *writer, const struct profile_state *state, const char *name, uint64_t time)
{
    uint32_t nodes = state->trace->node_count + 1, count = 0;

    fprintf(writer->to, "{\"kind\":\"%s\",\"time\":%" PRIu64, name, time);
    write_totals(writer->to, state);
    write_sums(writer->to, state, "sizes", state->live_by_size, PROFILE_POWERS);
    fputs(",\"stacks\":[", writer->to);
    for (uint32_t node = 0; node < nodes; node++) {
        if (state->accounts[node].made.count != 0) {
            write_account(writer->to, count++ == 0 ? "" : ",", state, node);
        }
    }
    fputs("]}\n", writer->to);
}

void
profile_write_part(struct profile_writer *writer, struct profile_state *state, uint32_t part)
{
    uint32_t count = 0;

    fprintf(writer->to, "{\"kind\":\"part\",\"part\":%" PRIu32 ",\"time\":%" PRIu64, part, state->time);
    write_totals(writer->to, state);
    write_sums(writer->to, state, "sizes", state->live_by_size, PROFILE_POWERS);
    write_sums(writer->to, state, "born", state->live_by_part, PROFILE_PARTS);
    fputs(",\"stacks\":[", writer->to);
    for (size_t i = 0; i < state->changed_count; i++) {
        uint32_t node = state->changed[i];
        state->accounts[node].changed = false;
        if (writer->told[node]) {
            write_account(writer->to, count++ == 0 ? "" : ",", state, node);
        }
    }
    fputs("]}\n", writer->to);
    state->changed_count = 0;
}

static void
write_lost(FILE *to, const struct profile_state *state)
{
    uint32_t nodes = state->trace->node_count + 1, count = 0;

    fputs("{\"kind\":\"lost\",\"stacks\":[", to);
    for (uint32_t node = 0; node < nodes; node++) {
        if (state->lost[node].count != 0) {
            fprintf(to, "%s%" PRIu32 ",", count++ == 0 ? "" : ",", node);
            write_sum(to, state, &state->lost[node]);
        }
    }
    fputs("]}\n", to);
}

void
profile_write_end(struct profile_writer *writer, const struct profile_state *state)
{
    fputs("{\"kind\":\"whole\"", writer->to);
    write_totals(writer->to, state);
    write_sums(writer->to, state, "sizes", state->made_by_size, PROFILE_POWERS);
    write_sums(writer->to, state, "ages", state->ended_by_age, PROFILE_POWERS);
    fputs("}\n", writer->to);
    if (state->lost != NULL) {
        write_lost(writer->to, state);
    }
}
