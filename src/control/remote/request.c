/* SPDX-License-Identifier: MIT */
/* request: see request.h. */
#include "control/remote/request.h"

#include "base/options.h"
#include "base/text.h"
#include "control/mallctl/ctl.h"
#include "control/mallctl/ctl_tree.h"
#include "control/mallctl/ctl_value.h"
#include "control/mallctl/report_general.h"
#include "slab/arena.h"

#include <errno.h>
#include <string.h>

/* The tables here have no pointers, which would cost every process relocations. */

/* The names of enum hew_ctl_type and enum hew_ctl_access in docs/control.md. */
static const char type_names[][12] = {
    [HEW_CTL_VOID] = "void", [HEW_CTL_BOOL] = "bool",       [HEW_CTL_UNSIGNED] = "unsigned", [HEW_CTL_U32] = "u32",
    [HEW_CTL_U64] = "u64",   [HEW_CTL_I64] = "i64",         [HEW_CTL_SIZE] = "size",         [HEW_CTL_SSIZE] = "ssize",
    [HEW_CTL_TEXT] = "text", [HEW_CTL_POINTER] = "pointer", [HEW_CTL_STRUCT] = "struct",     [HEW_CTL_INDEX] = "index"};
static const char access_names[][8] = {"do", "get", "set", "get,set"};

/* Names that belong to a thread of the program, or that create or destroy something the program must know about. */
static const char refused_beginnings[][32] = {"thread.", "tcache.", "arenas.create", "experimental.arenas_create_ext",
                                              "experimental.batch_alloc"};
static const char refused_endings[][12] = {".reset", ".destroy"}; /* of an arena */

static bool
begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool
is_refused(const char *name)
{
    size_t length = strlen(name);
    for (unsigned i = 0; i < sizeof refused_beginnings / sizeof refused_beginnings[0]; i++) {
        if (begins_with(name, refused_beginnings[i])) {
            return true;
        }
    }
    for (unsigned i = 0; begins_with(name, "arena.") && i < sizeof refused_endings / sizeof refused_endings[0]; i++) {
        size_t ending = strlen(refused_endings[i]);
        if (length >= ending && strcmp(name + length - ending, refused_endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void
refuse_error(struct hew_reply *reply, int error, const char *name)
{
    switch (error) {
    case ENOENT:
        hew_reply_refuse(reply, "unknown", "mallctl has no such name here, or needs prof:true for it: ", name);
        break;
    case EPERM:
        hew_reply_refuse(reply, "not-permitted", "this name cannot be used that way: ", name);
        break;
    case EINVAL:
        hew_reply_refuse(reply, "value", "not a value that can be had or set: ", name);
        break;
    case EAGAIN:
        hew_reply_refuse(reply, "busy", "not possible now: ", name);
        break;
    default:
        hew_reply_refuse(reply, "failed", "refused as it stands: ", name);
    }
}

/* The row of a name that clients may use; NULL: *reply has the error. */
static const struct hew_ctl_row *
row_for(const char *name, struct hew_reply *reply)
{
    const struct hew_ctl_row *row = hew_ctl_row_of(name);
    if (row == NULL || row->type == HEW_CTL_INDEX) {
        hew_reply_refuse(reply, "unknown", "mallctl has no such name: ", name);
        return NULL;
    }
    if (is_refused(name)) {
        hew_reply_refuse(reply, "not-permitted", "only the program itself may use ", name);
        return NULL;
    }
    return row;
}

/* Eight bytes for any plain type; for some texts the reader must provide the buffer. */
union value {
    uint64_t number;
    bool truth;
    uint32_t half;
    char *text;
};

static void
put_value(struct hew_reply *reply, const struct hew_ctl_row *row, const union value *value)
{
    char digits[32];
    struct hew_text text;
    hew_text_begin(&text, digits, sizeof digits);
    switch (row->type) {
    case HEW_CTL_BOOL:
        hew_text_put(&text, value->truth ? "true" : "false");
        break;
    case HEW_CTL_UNSIGNED:
    case HEW_CTL_U32:
        hew_text_put_unsigned(&text, value->half);
        break;
    case HEW_CTL_I64:
    case HEW_CTL_SSIZE:
        hew_text_put_signed(&text, (int64_t)value->number);
        break;
    case HEW_CTL_TEXT:
        hew_reply_put(reply, value->text == NULL ? "" : value->text);
        return;
    case HEW_CTL_POINTER:
        hew_text_put_hex(&text, value->number);
        break;
    default:
        hew_text_put_unsigned(&text, value->number);
    }
    hew_reply_put_bytes(reply, digits, text.length);
}

static void
get(const char *name, struct hew_reply *reply)
{
    char buffer[HEW_ARENA_NAME_BYTES] = "";
    union value value = {.number = 0};
    const struct hew_ctl_row *row = row_for(name, reply);
    size_t size = row == NULL ? 0 : hew_ctl_type_size(row->type);
    if (row == NULL || size == 0) {
        if (row != NULL) {
            hew_reply_refuse(reply, "not-permitted", "there is no plain value to read: ", name);
        }
        return;
    }
    if (row->type == HEW_CTL_TEXT) {
        value.text = buffer;
    }
    int error = hew_ctl_by_name(name, &value, &size, NULL, 0);
    if (error != 0) {
        refuse_error(reply, error, name);
        return;
    }
    put_value(reply, row, &value);
    hew_reply_end(reply, type_names[row->type]);
}

/* A whole decimal number within range; a minus sign only for signed types. */
static bool
read_number(const char *text, bool is_signed, uint64_t most, uint64_t *number)
{
    bool negative = is_signed && *text == '-';
    uint64_t value = 0;
    text += negative;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        unsigned digit = (unsigned char)*text - '0';
        if (digit > 9 || value > (most - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = negative ? 0 - value : value;
    return true;
}

static bool
read_value(const struct hew_ctl_row *row, char *text, union value *value)
{
    switch (row->type) {
    case HEW_CTL_BOOL:
        value->truth = strcmp(text, "true") == 0;
        return value->truth || strcmp(text, "false") == 0;
    case HEW_CTL_UNSIGNED:
    case HEW_CTL_U32: {
        uint64_t number = 0;
        bool read = read_number(text, false, UINT32_MAX, &number);
        value->half = (uint32_t)number;
        return read;
    }
    case HEW_CTL_I64:
    case HEW_CTL_SSIZE:
        return read_number(text, true, INT64_MAX, &value->number);
    case HEW_CTL_U64:
    case HEW_CTL_SIZE:
        return read_number(text, false, UINT64_MAX, &value->number);
    default:
        value->text = text;
        return row->type == HEW_CTL_TEXT;
    }
}

static void
set(const char *name, char *rest, struct hew_reply *reply)
{
    union value value = {.number = 0};
    const struct hew_ctl_row *row = row_for(name, reply);
    if (row == NULL) {
        return;
    }
    if ((row->access & HEW_CTL_WRITE) == 0 || hew_ctl_type_size(row->type) == 0 || row->type == HEW_CTL_POINTER) {
        hew_reply_refuse(reply, "not-permitted", "cannot be set from outside: ", name);
        return;
    }
    if (rest == NULL || !read_value(row, rest, &value)) {
        hew_reply_refuse(reply, "value", "the value must be of this type: ", type_names[row->type]);
        return;
    }
    int error = hew_ctl_by_name(name, NULL, NULL, &value, hew_ctl_type_size(row->type));
    if (error != 0) {
        refuse_error(reply, error, name);
        return;
    }
    hew_reply_end(reply, "void");
}

static void
act(const char *name, struct hew_reply *reply)
{
    const struct hew_ctl_row *row = row_for(name, reply);
    if (row == NULL) {
        return;
    }
    int error = row->type != HEW_CTL_VOID ? EPERM : hew_ctl_by_name(name, NULL, NULL, NULL, 0);
    if (error != 0) {
        refuse_error(reply, error, name);
        return;
    }
    hew_reply_end(reply, "void");
}

static void
put_piece(void *context, const char *piece)
{
    hew_reply_put(context, piece);
}

static void
stats(const char *letters, struct hew_reply *reply)
{
    letters = letters == NULL ? "" : letters;
    if (strchr(letters, ' ') != NULL) {
        hew_reply_refuse(reply, "malformed", "the letters are one word", "");
        return;
    }
    hew_report_print(&(struct hew_report_order){put_piece, reply, letters, hew_report_general});
    hew_reply_end(reply, strchr(letters, 'J') != NULL ? "json" : "text");
}

/* Writes NAME TYPE ACCESS, one line for each name. */
static void
names(struct hew_reply *reply)
{
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        unsigned access = row->access & (row->type == HEW_CTL_POINTER ? HEW_CTL_READ : HEW_CTL_BOTH);
        bool plain = hew_ctl_type_size(row->type) != 0 ? access != 0 : row->type == HEW_CTL_VOID;
        if (!plain || is_refused(row->name)) {
            continue;
        }
        hew_reply_put(reply, row->name);
        hew_reply_put(reply, " ");
        hew_reply_put(reply, type_names[row->type]);
        hew_reply_put(reply, " ");
        hew_reply_put(reply, access_names[access]);
        hew_reply_put(reply, "\n");
    }
    hew_reply_end(reply, "text");
}

/* Writes the settings of MALLOC_CONF, one line each. */
static void
settings(struct hew_reply *reply)
{
    for (const struct hew_option *option = hew_option_table; option->name[0] != '\0'; option++) {
        hew_reply_put(reply, option->name);
        hew_reply_put(reply, "\n");
    }
    hew_reply_end(reply, "text");
}

enum verb { GET, SET, DO, STATS, HEAP, NAMES, SETTINGS, THREADS, SAMPLES, RECORD };
static const struct {
    char word[12];
    uint8_t words; /* number of words that must follow */
    bool may_have_one_more;
} verbs[] = {
    [GET] = {"get", 1, false},           [SET] = {"set", 1, true},          [DO] = {"do", 1, false},
    [STATS] = {"stats", 0, true},        [HEAP] = {"heap", 0, false},       [NAMES] = {"names", 0, false},
    [SETTINGS] = {"settings", 0, false}, [THREADS] = {"threads", 0, false}, [SAMPLES] = {"samples", 0, false},
    [RECORD] = {"record", 1, true},
};

static void
answer(enum verb verb, char *name, char *rest, struct hew_reply *reply)
{
    switch (verb) {
    case GET:
        get(name, reply);
        break;
    case SET:
        set(name, rest, reply);
        break;
    case DO:
        act(name, reply);
        break;
    case STATS:
        stats(name, reply);
        break;
    case HEAP:
        hew_request_profile(reply);
        break;
    case NAMES:
        names(reply);
        break;
    case SETTINGS:
        settings(reply);
        break;
    case THREADS:
        hew_request_threads(reply);
        break;
    case SAMPLES:
        hew_request_samples(reply);
        break;
    default:
        hew_request_record(name, rest, reply);
    }
}

/* Cuts the text at its first blank; returns the remainder, NULL when there is none. */
static char *
cut_word(char *text)
{
    char *blank = text == NULL ? NULL : strchr(text, ' ');
    if (blank == NULL) {
        return NULL;
    }
    *blank = '\0';
    return blank + 1;
}

static bool
is_printable(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

void
hew_request_answer(char *line, size_t length, struct hew_reply *reply)
{
    line[length] = '\0';
    if (!is_printable(line, length)) {
        hew_reply_refuse(reply, "malformed", "a request is one line of printable text", "");
        return;
    }
    char *name = cut_word(line), *rest = NULL;
    for (unsigned i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(line, verbs[i].word) != 0) {
            continue;
        }
        rest = verbs[i].words == 0 ? NULL : cut_word(name);
        unsigned words = (name != NULL) + (rest != NULL);
        if (words < verbs[i].words || words > (unsigned)verbs[i].words + verbs[i].may_have_one_more) {
            hew_reply_refuse(reply, "malformed", "too many or too few words for ", verbs[i].word);
            return;
        }
        answer((enum verb)i, name, rest, reply);
        return;
    }
    hew_reply_refuse(reply, "malformed",
                     "a request begins with get, set, do, stats, heap, names, settings, threads, samples or record",
                     "");
}
