/* SPDX-License-Identifier: MIT */
/*
 * report_tuning: what the library has changed by itself, and why.
 */
#include "stats/report.h"

#include "base/options.h"
#include "base/steps.h"
#include "os/clock.h"
#include "slab/arena_life.h"
#include "stats/tuning.h"

static const char *
mode_name(void)
{
    static const char words[][8] = {
        [HEW_TUNING_OFF] = "off",
        [HEW_TUNING_OBSERVE] = "observe",
        [HEW_TUNING_ON] = "on",
    };
    return words[hew_options.tuning];
}

/* When the first arena was made: steps are told from there on. */
static uint64_t
begin_ms(void)
{
    const struct hew_arena *first = hew_arena_at(0);
    uint64_t now = hew_clock_ns(), ago = first == NULL ? 0 : hew_arena_uptime_ns(first);
    return (now - ago) / 1000000;
}

static uint64_t
since(uint64_t begin, uint64_t at)
{
    return at > begin ? at - begin : 0;
}

static void
step_json(struct hew_json *json, const struct hew_step *step, uint64_t begin)
{
    hew_json_open(json, NULL, '{');
    hew_json_unsigned(json, "at_ms", since(begin, step->at_ms));
    hew_json_text(json, "setting", hew_step_lever_name(step->lever));
    hew_json_unsigned(json, "before", step->before);
    hew_json_unsigned(json, "after", step->after);
    hew_json_text(json, "outcome", hew_step_outcome_name(step->outcome));
    hew_json_unsigned(json, "reason_before", step->reason_before);
    hew_json_unsigned(json, "reason_after", step->reason_after);
    hew_json_unsigned(json, "effect_before", step->effect_before);
    hew_json_unsigned(json, "effect_after", step->effect_after);
    hew_json_close(json, '}');
}

void
hew_report_tuning_json(struct hew_json *json)
{
    struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT];
    struct hew_stats_tuned tuned = hew_stats_tuned();
    unsigned count = hew_steps_read(steps);
    uint64_t begin = begin_ms();
    hew_json_open(json, "tuning", '{');
    hew_json_text(json, "mode", mode_name());
    hew_report_fields_json(json, hew_stats_tuned_fields, &tuned);
    hew_json_open(json, "last_steps", '[');
    for (unsigned index = 0; index < count; index++) {
        step_json(json, &steps[index], begin);
    }
    hew_json_close(json, ']');
    hew_json_close(json, '}');
}

static void
put_named(struct hew_writer *out, const char *before, uint64_t value)
{
    hew_writer_put(out, before);
    hew_writer_put_unsigned(out, value);
}

/* What a lever's steps are told in: base/steps.h. */
static void
put_reason(struct hew_writer *out, const struct hew_step *step)
{
    if (step->lever == HEW_STEP_DEPOT_ROOM) {
        return;
    }
    put_named(out, ", reason: ", step->reason_before);
    put_named(out, " -> ", step->reason_after);
    hew_writer_put(out, step->lever == HEW_STEP_DIRTY_DECAY ? " ppm of pages wanted again"
                                                            : " misses of 1000000 operations");
}

static const char *
effect_unit(uint64_t lever)
{
    return lever == HEW_STEP_DIRTY_DECAY ? " ppm of wanted pages gone" : " ps an operation";
}

static void
step_text(struct hew_writer *out, const struct hew_step *step, uint64_t begin)
{
    put_named(out, "  at ", since(begin, step->at_ms));
    hew_writer_put(out, " ms ");
    hew_writer_put(out, hew_step_lever_name(step->lever));
    put_named(out, " ", step->before);
    put_named(out, " -> ", step->after);
    hew_writer_put(out, ": ");
    hew_writer_put(out, hew_step_outcome_name(step->outcome));
    put_reason(out, step);
    put_named(out, ", effect: ", step->effect_before);
    put_named(out, " -> ", step->effect_after);
    hew_writer_put(out, effect_unit(step->lever));
    hew_writer_put_byte(out, '\n');
}

void
hew_report_tuning_text(struct hew_writer *out)
{
    struct hew_step steps[HEW_STEP_LEVERS * HEW_STEPS_KEPT];
    struct hew_stats_tuned tuned = hew_stats_tuned();
    bool nothing_tried = hew_options.tuning == HEW_TUNING_ON && tuned.room_trials == 0 && tuned.steps == 0 &&
                         tuned.room_depots == 0 && tuned.depots_judged == 0;
    if (hew_options.tuning == HEW_TUNING_OFF || nothing_tried) {
        return;
    }
    unsigned count = hew_steps_read(steps);
    uint64_t begin = begin_ms();
    hew_writer_put(out, "Tuning: ");
    hew_writer_put(out, mode_name());
    const uint64_t *word = (const uint64_t *)&tuned;
    for (const struct hew_stats_field *field = hew_stats_tuned_fields; field->name[0] != '\0'; field++, word++) {
        hew_writer_put(out, ", ");
        hew_writer_put(out, field->name);
        hew_writer_put(out, ": ");
        hew_writer_put_signed(out, (int64_t)*word);
    }
    hew_writer_put_byte(out, '\n');
    for (unsigned index = 0; index < count; index++) {
        step_text(out, &steps[index], begin);
    }
}
