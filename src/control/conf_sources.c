/* SPDX-License-Identifier: MIT */
/* conf_sources: see conf_sources.h. */
#include "control/conf_sources.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONF_SOURCE_COUNT 5

/* A symbolic link's target is at most PATH_MAX - 1 bytes long. */
static char conf_link_target[PATH_MAX];

struct conf_source {
    const char *name;
    const char *text;
};

/* Straight to the kernel: a library preloaded along with us may replace readlink or write by code that calls malloc. */
const char *
hew_conf_read_link(const char *path, char *buffer, size_t capacity)
{
    int saved = errno;
    long length = syscall(SYS_readlinkat, AT_FDCWD, path, buffer, capacity - 1);

    errno = saved;
    if (length < 0) {
        return NULL;
    }
    buffer[length] = '\0';
    return buffer;
}

static void
write_line(void *context, const char *line, size_t length)
{
    int saved = errno;

    while (length > 0) {
        long written = syscall(SYS_write, STDERR_FILENO, line, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            break; /* nobody can read it: no reason to stop the program */
        }
        line += written;
        length -= (size_t)written;
    }
    errno = saved;
}

void
hew_conf_gather(struct hew_conf_input *input)
{
    input->built_in = HEW_MALLOC_CONF;
    input->link = hew_conf_read_link("/etc/malloc.conf", conf_link_target, sizeof(conf_link_target));
    input->environment = secure_getenv("MALLOC_CONF"); /* NULL in setuid programs */
    input->warn = write_line;
    input->context = NULL;
}

static void
list_sources(const struct hew_conf_input *input, struct conf_source *sources)
{
    sources[0] = (struct conf_source){"built-in settings", input->built_in};
    sources[1] = (struct conf_source){"malloc_conf variable", input->variable};
    sources[2] = (struct conf_source){"/etc/malloc.conf", input->link};
    sources[3] = (struct conf_source){"MALLOC_CONF", input->environment};
    sources[4] = (struct conf_source){"malloc_conf_2_conf_harder variable", input->harder};
}

static void
say(const struct hew_conf_input *input, const char *first, const char *second, const char *third)
{
    char buffer[PATH_MAX + 128];
    struct hew_text text;

    hew_text_begin(&text, buffer, sizeof(buffer) - 1); /* one byte stays for the newline */
    hew_text_put(&text, first);
    hew_text_put(&text, second);
    hew_text_put_printable(&text, third, strlen(third));
    buffer[text.length] = '\n';
    buffer[text.length + 1] = '\0';
    input->warn(input->context, buffer, text.length + 1);
}

bool
hew_conf_load(struct hew_options *options, const struct hew_conf_input *input)
{
    struct conf_source sources[CONF_SOURCE_COUNT];
    size_t bad = 0;

    list_sources(input, sources);
    for (int i = 0; i < CONF_SOURCE_COUNT; i++) {
        hew_conf_read_bool(sources[i].text, "confirm_conf", &options->confirm_conf);
    }
    for (int i = 0; i < CONF_SOURCE_COUNT; i++) {
        const char *text = sources[i].text;
        if (options->confirm_conf) {
            say(input, "<hew>: settings from ", sources[i].name, text == NULL ? ": none" : ":");
        }
        if (options->confirm_conf && text != NULL) {
            say(input, "<hew>:   ", "", text);
        }
        bad += hew_conf_parse(options, text, sources[i].name, input->warn, input->context);
        if (bad > 0 && options->abort_conf) {
            say(input, "<hew>: abort_conf:true ends the program: see the lines above", "", "");
            return false;
        }
    }
    return true;
}
