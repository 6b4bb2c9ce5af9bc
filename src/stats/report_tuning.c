/* SPDX-License-Identifier: MIT */
/*
 * report_tuning: what the library has changed by itself, and why.
 */
#include "stats/report.h"

#include "base/options.h"
#include "stats/tuning.h"

static const char *
mode_name(void)
{
    static const char words[][8] = {
        [HEW_TUNING_OFF] = "off",
        [HEW_TUNING_OBSERVE] = "observe",
        [HEW_TUNING_ROOM] = "room",
        [HEW_TUNING_ON] = "on",
    };
    return words[hew_options.tuning];
}

static void
step_json(struct hew_json *json, const struct hew_stats_step *step)
{
    hew_json_open(json, NULL, '{');
    hew_json_unsigned(json, "at_ms", step->at_ms);
    hew_json_text(json, "setting", hew_step_lever_name(step->lever));
    hew_json_unsigned(json, "before", step->before);
    hew_json_unsigned(json, "after", step->after);
    hew_json_text(json, "outcome", hew_step_outcome_name(step->outcome));
    hew_json_unsigned(json, "lost_before_ppm", step->lost_before);
    hew_json_unsigned(json, "lost_after_ppm", step->lost_after);
    hew_json_unsigned(json, "held_before", step->held_before);
    hew_json_unsigned(json, "held_after", step->held_after);
    hew_json_close(json, '}');
}

void
hew_report_tuning_json(struct hew_json *json)
{
    struct hew_stats_step steps[HEW_STATS_STEPS];
    struct hew_stats_tuned tuned = hew_stats_tuned();
    unsigned count = hew_stats_steps(steps);
    hew_json_open(json, "tuning", '{');
    hew_json_text(json, "mode", mode_name());
    hew_report_fields_json(json, hew_stats_tuned_fields, &tuned);
    hew_json_open(json, "last_steps", '[');
    for (unsigned index = 0; index < count; index++) {
        step_json(json, &steps[index]);
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

static void
step_text(struct hew_writer *out, const struct hew_stats_step *step)
{
    put_named(out, "  at ", step->at_ms);
    hew_writer_put(out, " ms ");
    hew_writer_put(out, hew_step_lever_name(step->lever));
    put_named(out, " ", step->before);
    put_named(out, " -> ", step->after);
    hew_writer_put(out, ": ");
    hew_writer_put(out, hew_step_outcome_name(step->outcome));
    put_named(out, ", lost: ", step->lost_before);
    put_named(out, " -> ", step->lost_after);
    put_named(out, " ppm, held: ", step->held_before);
    put_named(out, " -> ", step->held_after);
    hew_writer_put_byte(out, '\n');
}

void
hew_report_tuning_text(struct hew_writer *out)
{
    struct hew_stats_step steps[HEW_STATS_STEPS];
    struct hew_stats_tuned tuned = hew_stats_tuned();
    bool nothing_tried = hew_options.tuning == HEW_TUNING_ROOM && tuned.room_trials == 0;
    if (hew_options.tuning == HEW_TUNING_OFF || nothing_tried) {
        return;
    }
    unsigned count = hew_stats_steps(steps);
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
        step_text(out, &steps[index]);
    }
}
