/* SPDX-License-Identifier: MIT */
/* conf_sources: see conf_sources.h. */
#include "control/settings/conf_sources.h"

#include "base/text.h"
#include "control/settings/conf_file.h"
#include "os/environment.h"
#include "os/fatal.h"
#include "os/syscall.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define CONF_SOURCE_COUNT 6

/* Named symbols, so that cmake/first.txt can refer to them: every process reads these. */
static const char conf_link[] = HEW_CONF_LINK;
static const char conf_environment[] = HEW_SETTINGS_NAME;
static const char conf_own[] = HEW_OWN_SETTINGS_NAME;

/* A symbolic link's target is at most PATH_MAX - 1 bytes long. */
static char conf_link_target[PATH_MAX];

struct hew_conf_input hew_conf_applied;

struct conf_source {
    const char *name;
    const char *text;
};

static bool
has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* A system call instead of readlink(): another preloaded library may replace readlink() with code that calls malloc. */
const char *
hew_conf_read_link(const char *path, char *buffer, size_t capacity)
{
    long length = hew_syscall4(SYS_readlinkat, AT_FDCWD, path, buffer, capacity - 1);

    if (length < 0) {
        return NULL;
    }
    buffer[length] = '\0';
    return buffer;
}

static void
write_line(void *context, const char *line, size_t length)
{
    hew_os_write_error(line, length);
}

void
hew_conf_gather(struct hew_conf_input *input)
{
    input->built_in = HEW_MALLOC_CONF;
    input->link = hew_conf_read_link(conf_link, conf_link_target, sizeof(conf_link_target));
    input->environment = hew_environment_get(conf_environment); /* NULL in setuid programs */
    input->own = hew_environment_get(conf_own);
    input->warn = write_line;
    input->context = NULL;
}

static void
list_sources(const struct hew_conf_input *input, struct conf_source *sources)
{
    sources[0] = (struct conf_source){"built-in settings", input->built_in};
    sources[1] = (struct conf_source){HEW_CONF_VARIABLE, input->variable};
    sources[2] = (struct conf_source){conf_link, input->link};
    sources[3] = (struct conf_source){conf_environment, input->environment};
    sources[4] = (struct conf_source){conf_own, input->own};
    sources[5] = (struct conf_source){HEW_CONF_HARDER, input->harder};
}

/* Completes and prints a line whose buffer has two bytes left. */
static void
warn(const struct hew_conf_input *input, struct hew_text *line)
{
    line->at[line->length] = '\n';
    line->at[line->length + 1] = '\0';
    input->warn(input->context, line->at, line->length + 1);
}

static void
say_source(const struct hew_conf_input *input, const struct conf_source *source)
{
    const char *shown = has_text(source->text) ? source->text : "none";
    char buffer[PATH_MAX + 128];
    struct hew_text text;

    hew_text_begin(&text, buffer, sizeof(buffer) - 1); /* reserve one byte for the newline */
    hew_text_put(&text, "<hew>: reading ");
    hew_text_put_printable(&text, source->name, strlen(source->name));
    hew_text_put(&text, ": ");
    hew_text_put_printable(&text, shown, strlen(shown));
    warn(input, &text);
}

static void
say_file(const struct hew_conf_input *input, const struct conf_source *source, const char *path, const char *fault)
{
    char buffer[PATH_MAX + 128];
    struct hew_text text;

    hew_text_begin(&text, buffer, sizeof(buffer) - 1); /* reserve one byte for the newline */
    hew_text_put(&text, "<hew>: ");
    hew_text_put(&text, source->name);
    hew_text_put(&text, ": \"conf_file:");
    hew_text_put_printable(&text, path, strlen(path));
    hew_text_put(&text, "\": the file is ignored: ");
    hew_text_put(&text, fault);
    warn(input, &text);
}

/* Applies the file that a source names, if any.  Returns its number of bad pairs, or 1 if the file was bad. */
static size_t
apply_file(struct hew_options *options, const struct hew_conf_input *input, const struct conf_source *source)
{
    char path[sizeof options->conf_file], other[sizeof path];
    const char *fault = NULL;

    if (!hew_conf_read_text(source->text, "conf_file", path, sizeof path)) {
        return 0;
    }
    struct conf_source file = {path, hew_conf_file_read(path, &fault)};
    if (file.text != NULL && hew_conf_read_text(file.text, "conf_file", other, sizeof other)) {
        fault = "it names another one";
    }
    if (fault != NULL) {
        say_file(input, source, path, fault);
        return 1;
    }
    if (options->confirm_conf) {
        say_source(input, &file);
    }
    return hew_conf_parse(options, file.text, path, input->warn, input->context);
}

/* A soft limit above the hard limit would never take effect: it is lowered to the hard one, whichever sources they come
 * from. */
static void
check_limits(struct hew_options *options, const struct hew_conf_input *input)
{
    char buffer[160];
    struct hew_text text;

    if (options->limit_hard == 0 || options->limit <= options->limit_hard) {
        return;
    }
    hew_text_begin(&text, buffer, sizeof(buffer) - 1); /* reserve one byte for the newline */
    hew_text_put(&text, "<hew>: \"limit:");
    hew_text_put_unsigned(&text, options->limit);
    hew_text_put(&text, "\" is above \"limit_hard:");
    hew_text_put_unsigned(&text, options->limit_hard);
    hew_text_put(&text, "\": taken as ");
    hew_text_put_unsigned(&text, options->limit_hard);
    warn(input, &text);
    options->limit = options->limit_hard;
}

/* A process with more privileges than its user offers no socket and writes no profiles.  The places of both depend on
 * the user: on the environment, and on the current directory. */
static void
forbid_places(struct hew_options *options, const struct hew_conf_input *input)
{
    static const char line[] =
        "<hew>: control, prof and conf_file are ignored: the process has more rights than its user\n";

    if (options->control[0] != '\0' || options->prof) {
        input->warn(input->context, line, sizeof line - 1);
    }
    options->control[0] = '\0';
    options->prof = false;
}

static HEW_COLD bool
apply_sources(struct hew_options *options, const struct hew_conf_input *input)
{
    struct conf_source sources[CONF_SOURCE_COUNT];
    bool secure = hew_environment_is_secure();
    size_t bad = 0;

    list_sources(input, sources);
    for (int i = 0; i < CONF_SOURCE_COUNT; i++) {
        if (has_text(sources[i].text)) {
            hew_conf_read_bool(sources[i].text, "confirm_conf", &options->confirm_conf);
        }
    }
    for (int i = 0; i < CONF_SOURCE_COUNT; i++) {
        if (options->confirm_conf) {
            say_source(input, &sources[i]);
        }
        if (has_text(sources[i].text)) {
            bad += secure ? 0 : apply_file(options, input, &sources[i]);
            bad += hew_conf_parse(options, sources[i].text, sources[i].name, input->warn, input->context);
        }
        if (bad > 0 && options->abort_conf) {
            return false;
        }
    }
    check_limits(options, input);
    if (secure) {
        forbid_places(options, input);
    }
    return true;
}

/* Most processes have no settings, and should not touch the pages of names and of the parser. */
bool
hew_conf_load(struct hew_options *options, const struct hew_conf_input *input)
{
    hew_conf_applied = *input;
    if (has_text(input->built_in) || has_text(input->variable) || has_text(input->link) ||
        has_text(input->environment) || has_text(input->own) || has_text(input->harder)) {
        return apply_sources(options, input);
    }
    return true;
}
