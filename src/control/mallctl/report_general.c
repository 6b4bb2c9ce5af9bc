/* SPDX-License-Identifier: MIT */
#include "control/mallctl/report_general.h"

#include "base/options.h"
#include "control/mallctl/ctl_tree.h"
#include "control/mallctl/ctl_value.h"
#include "os/file.h"

#include <string.h>
#include <sys/types.h>

#define VALUE_BYTES 512 /* of a setting that is not text but is printed as text */

/* A value for both forms of the report. */
struct value {
    enum { IS_BOOL, IS_UNSIGNED, IS_SIGNED, IS_TEXT } kind;
    union {
        bool truth;
        uint64_t number;
        int64_t whole;
        const char *text;
    };
};

static void
put_value(struct hew_writer *out, const struct value *value)
{
    switch (value->kind) {
    case IS_BOOL:
        hew_writer_put(out, value->truth ? "true" : "false");
        return;
    case IS_UNSIGNED:
        hew_writer_put_unsigned(out, value->number);
        return;
    case IS_SIGNED:
        hew_writer_put_signed(out, value->whole);
        return;
    case IS_TEXT:
        hew_writer_put_byte(out, '"');
        hew_writer_put(out, value->text);
        hew_writer_put_byte(out, '"');
    }
}

static void
put_member(struct hew_json *json, const char *key, const struct value *value)
{
    switch (value->kind) {
    case IS_BOOL:
        hew_json_bool(json, key, value->truth);
        return;
    case IS_UNSIGNED:
        hew_json_unsigned(json, key, value->number);
        return;
    case IS_SIGNED:
        hew_json_signed(json, key, value->whole);
        return;
    case IS_TEXT:
        hew_json_text(json, key, value->text);
    }
}

/* Opens a JSON object, or prints a heading in the text. */
static void
open_part(struct hew_report *report, const char *key, const char *title)
{
    if (report->as_json) {
        hew_json_open(&report->json, key, '{');
    } else {
        hew_writer_put(&report->out, title);
    }
}

static void
close_part(struct hew_report *report)
{
    if (report->as_json) {
        hew_json_close(&report->json, '}');
    }
}

/* Writes a JSON member, or a line of the text; `label` NULL: no line. */
static void
show(struct hew_report *report, const char *key, const char *label, const struct value *value)
{
    if (report->as_json) {
        put_member(&report->json, key, value);
    } else if (label != NULL) {
        hew_writer_put(&report->out, label);
        hew_writer_put(&report->out, ": ");
        put_value(&report->out, value);
        hew_writer_put_byte(&report->out, '\n');
    }
}

/* Reads the value of a mallctl name.  False: it has none at present. */
static bool
read_name(const char *name, enum hew_ctl_type type, struct value *value)
{
    uint64_t bytes = 0;
    size_t length = hew_ctl_type_size(type);
    if (hew_ctl_by_name(name, &bytes, &length, NULL, 0) != 0) {
        return false;
    }
    if (type == HEW_CTL_BOOL) {
        *value = (struct value){.kind = IS_BOOL, .truth = bytes != 0};
    } else if (type == HEW_CTL_TEXT) {
        *value = (struct value){.kind = IS_TEXT, .text = (const char *)(uintptr_t)bytes};
    } else if (type == HEW_CTL_I64 || type == HEW_CTL_SSIZE) {
        *value = (struct value){.kind = IS_SIGNED, .whole = (int64_t)bytes};
    } else {
        *value = (struct value){.kind = IS_UNSIGNED, .number = bytes};
    }
    return true;
}

/* Writes the rows directly below `prefix` that have a value as one part. */
static void
subtree(struct hew_report *report, const char *prefix, const char *title)
{
    size_t length = strlen(prefix);
    open_part(report, prefix, title);
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        struct value value;
        bool below = strncmp(row->name, prefix, length) == 0 && row->name[length] == '.' &&
                     strchr(row->name + length + 1, '.') == NULL;
        if (below && (row->access & HEW_CTL_READ) != 0 && read_name(row->name, row->type, &value)) {
            char label[HEW_CTL_NAME_MAX + 2] = "  ";
            /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.strcpy): no name is longer than HEW_CTL_NAME_MAX */
            strcpy(label + 2, row->name);
            show(report, row->name + length + 1, label, &value);
        }
    }
    close_part(report);
}

/* Writes ranges in the form of the setting: low-high:value|... */
static void
put_ranges(struct hew_text *text, const struct hew_option_ranges *ranges)
{
    for (unsigned index = 0; index < ranges->count; index++) {
        hew_text_put(text, index == 0 ? "" : "|");
        hew_text_put_unsigned(text, ranges->at[index].low);
        hew_text_put(text, "-");
        hew_text_put_unsigned(text, ranges->at[index].high);
        hew_text_put(text, ":");
        hew_text_put_unsigned(text, ranges->at[index].value);
    }
}

static void
put_fixed(struct hew_text *text, int64_t thousandths)
{
    hew_text_put(text, thousandths < 0 ? "-" : "");
    hew_text_put_thousandths(text, thousandths < 0 ? (uint64_t)-thousandths : (uint64_t)thousandths);
}

static struct value
option_value(const struct hew_option *option, struct hew_text *text)
{
    const char *field = (const char *)&hew_options + option->offset;
    switch (option->kind) {
    case HEW_KIND_BOOL:
        return (struct value){.kind = IS_BOOL, .truth = *(const bool *)field};
    case HEW_KIND_UNSIGNED:
    case HEW_KIND_PERCENT:
    case HEW_KIND_COUNT:
        return (struct value){.kind = IS_UNSIGNED, .number = *(const unsigned *)field};
    case HEW_KIND_SIZE:
    case HEW_KIND_UINT64:
        return (struct value){.kind = IS_UNSIGNED, .number = *(const uint64_t *)field};
    case HEW_KIND_SSIZE:
    case HEW_KIND_INT64:
        return (struct value){.kind = IS_SIGNED, .whole = *(const int64_t *)field};
    case HEW_KIND_CHOICE:
        return (struct value){.kind = IS_TEXT, .text = hew_option_words(option)[*(const unsigned *)field]};
    case HEW_KIND_FIXED:
        put_fixed(text, ((const hew_fixed *)field)->thousandths);
        return (struct value){.kind = IS_TEXT, .text = text->at};
    case HEW_KIND_RANGES:
        put_ranges(text, (const struct hew_option_ranges *)field);
        return (struct value){.kind = IS_TEXT, .text = text->at};
    default:
        return (struct value){.kind = IS_TEXT, .text = field};
    }
}

/* Writes the current value of settings that can change at run time. */
static void
put_current(struct hew_report *report, const char *option)
{
    static const struct {
        const char *option, *name;
        enum hew_ctl_type type;
    } living[] = {
        {"background_thread", "background_thread", HEW_CTL_BOOL},
        {"max_background_threads", "max_background_threads", HEW_CTL_SIZE},
        {"dirty_decay_ms", "arenas.dirty_decay_ms", HEW_CTL_SSIZE},
        {"muzzy_decay_ms", "arenas.muzzy_decay_ms", HEW_CTL_SSIZE},
        {"prof_active", "prof.active", HEW_CTL_BOOL},
        {"prof_thread_active_init", "prof.thread_active_init", HEW_CTL_BOOL},
        {"lg_prof_sample", "prof.lg_sample", HEW_CTL_SIZE},
    };
    struct value value;
    for (unsigned row = 0; row < sizeof living / sizeof living[0]; row++) {
        if (strcmp(living[row].option, option) == 0 && read_name(living[row].name, living[row].type, &value)) {
            hew_writer_put(&report->out, " (");
            hew_writer_put(&report->out, living[row].name);
            hew_writer_put(&report->out, ": ");
            put_value(&report->out, &value);
            hew_writer_put_byte(&report->out, ')');
        }
    }
}

static void
show_option(struct hew_report *report, const char *name, const struct value *value)
{
    if (report->as_json) {
        put_member(&report->json, name, value);
        return;
    }
    hew_writer_put(&report->out, "  opt.");
    hew_writer_put(&report->out, name);
    hew_writer_put(&report->out, ": ");
    put_value(&report->out, value);
    put_current(report, name);
    hew_writer_put_byte(&report->out, '\n');
}

/* Writes the sources of settings. */
static void
setting_sources(struct hew_report *report)
{
    static const char *const sources[] = {"symlink", "env_var", "global_var", "global_var_2_conf_harder"};
    for (unsigned source = 0; source < sizeof sources / sizeof sources[0]; source++) {
        char name[64];
        struct hew_text text;
        struct value value;
        hew_text_begin(&text, name, sizeof name);
        hew_text_put(&text, "opt.malloc_conf.");
        hew_text_put(&text, sources[source]);
        if (read_name(name, HEW_CTL_TEXT, &value) && value.text != NULL) {
            show_option(report, report->as_json ? sources[source] : name + strlen("opt."), &value);
        }
    }
}

static void
settings(struct hew_report *report)
{
    open_part(report, "opt", "Run-time option settings\n");
    for (const struct hew_option *option = hew_option_table; option->name[0] != '\0'; option++) {
        char bytes[VALUE_BYTES];
        struct hew_text text;
        hew_text_begin(&text, bytes, sizeof bytes);
        if (option->kind == HEW_KIND_LOG2) { /* an alternative spelling of a setting that is printed already */
            continue;
        }
        struct value value = option_value(option, &text);
        if (option->kind == HEW_KIND_COUNT && value.number == 0) {
            value.number = hew_arena_limit();
        }
        show_option(report, option->name, &value);
    }
    setting_sources(report);
    close_part(report);
}

static void
system_state(struct hew_report *report)
{
    struct value mode = {.kind = IS_TEXT, .text = hew_file_huge_pages()};
    open_part(report, "system", "System configuration\n");
    show(report, "thp_mode", "  thp_mode", &mode);
    close_part(report);
}

static void
classes_json(struct hew_json *json)
{
    hew_json_open(json, "bin", '[');
    for (unsigned bin = 0; bin < hew_small_classes; bin++) {
        const struct hew_slab_shape *shape = &hew_slab_shapes[bin + 1];
        hew_json_open(json, NULL, '{');
        hew_json_unsigned(json, "size", shape->size);
        hew_json_unsigned(json, "nregs", shape->regions);
        hew_json_unsigned(json, "slab_size", shape->pages * HEW_PAGE);
        hew_json_unsigned(json, "nshards", 1);
        hew_json_close(json, '}');
    }
    hew_json_close(json, ']');
    hew_json_open(json, "lextent", '[');
    for (unsigned index = 0; index < HEW_CLASSES_LARGE; index++) {
        hew_json_open(json, NULL, '{');
        hew_json_unsigned(json, "size", hew_class_size(HEW_CODE_SMALL_LAST + index));
        hew_json_close(json, '}');
    }
    hew_json_close(json, ']');
}

static void
arenas(struct hew_report *report)
{
    static const struct {
        const char *name, *label;
        enum hew_ctl_type type;
    } rows[] = {
        {"arenas.narenas", "Arenas", HEW_CTL_UNSIGNED},
        {"arenas.dirty_decay_ms", NULL, HEW_CTL_SSIZE},
        {"arenas.muzzy_decay_ms", NULL, HEW_CTL_SSIZE},
        {"arenas.quantum", "Quantum size", HEW_CTL_SIZE},
        {"arenas.page", "Page size", HEW_CTL_SIZE},
        {"arenas.hugepage", "Hugepage size", HEW_CTL_SIZE},
        {"arenas.tcache_max", "Maximum thread-cached size class", HEW_CTL_SIZE},
        {"arenas.nbins", "Number of bin size classes", HEW_CTL_UNSIGNED},
        {"arenas.nhbins", "Number of thread-cache bin size classes", HEW_CTL_UNSIGNED},
        {"arenas.nlextents", "Number of large size classes", HEW_CTL_UNSIGNED},
    };
    open_part(report, "arenas", "");
    for (unsigned row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        struct value value;
        if (read_name(rows[row].name, rows[row].type, &value)) {
            show(report, rows[row].name + strlen("arenas."), rows[row].label, &value);
        }
    }
    if (report->as_json) {
        classes_json(&report->json);
    }
    close_part(report);
}

/* The name of the nearest limit. */
static const char *
limit_source(uint64_t limit)
{
    return limit == hew_options.limit ? "limit" : limit == hew_options.limit_hard ? "limit_hard" : "cgroup";
}

#define LIMIT_KEY_BYTES 10

/* Reads one number of experimental.limit. */
static bool
read_limit(const char *key, struct value *value)
{
    char name[HEW_CTL_NAME_MAX];
    struct hew_text text;
    hew_text_begin(&text, name, sizeof name);
    hew_text_put(&text, "experimental.limit.");
    hew_text_put(&text, key);
    return read_name(name, HEW_CTL_SIZE, value);
}

/* Writes the nearest memory limit, its distance and its cost, where one is known.  The table has no pointers: they
 * would need relocation at each start. */
static void
limits(struct hew_report *report)
{
    static const char labels[][LIMIT_KEY_BYTES + 2] = {"  bytes", "  held", "  looks", "  relieved", "  returned"};
    struct value value;
    if (!read_limit(labels[0] + 2, &value) || value.number == 0) {
        return;
    }
    struct value source = {.kind = IS_TEXT, .text = limit_source(value.number)};
    open_part(report, "limit", "Limit of memory\n");
    show(report, "source", "  source", &source);
    for (unsigned row = 0; row < sizeof labels / sizeof labels[0]; row++) {
        if (read_limit(labels[row] + 2, &value)) {
            show(report, labels[row] + 2, labels[row], &value);
        }
    }
    close_part(report);
}

void
hew_report_general(struct hew_report *report)
{
    struct value version = {.kind = IS_TEXT, .text = ""};
    read_name("version", HEW_CTL_TEXT, &version);
    show(report, "version", "Version", &version);
    subtree(report, "config", "Build-time option settings\n");
    system_state(report);
    settings(report);
    subtree(report, "prof", "Profiling settings\n");
    arenas(report);
    limits(report);
}
