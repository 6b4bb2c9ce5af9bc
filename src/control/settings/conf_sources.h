/* SPDX-License-Identifier: MIT */
/*
 * conf_sources: the sources of settings, and their order.
 *
 * Owns      jemalloc's order, in which later sources win: the built-in text, the program's variable malloc_conf, the
 *           target of the symbolic link /etc/malloc.conf, the environment's MALLOC_CONF, the variable
 *           malloc_conf_2_conf_harder.  hew's own HEW_CONF, which no jemalloc in the same process reads, comes after
 *           MALLOC_CONF.  The file that a source's conf_file names applies just before that source.
 * Promises  confirm_conf applies from the first source on, wherever it is set.  abort_conf is checked after each
 *           source, with all errors so far.  errno is preserved.  No malloc.
 * Called    once, at boot, by one thread; the caller aborts and fills in the fields of the two weak variables.
 * Not here  the syntax: conf.c.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_SOURCES_H
#define HEW_CONTROL_SETTINGS_CONF_SOURCES_H

#include "control/settings/conf.h"

/* Settings chosen when the library is built, for example -DHEW_MALLOC_CONF='"narenas:8"'. */
#ifndef HEW_MALLOC_CONF
#define HEW_MALLOC_CONF ""
#endif

/* A library with a symbol prefix has its own names for the other sources: je_malloc_conf, /etc/je_malloc.conf,
 * JE_MALLOC_CONF, JE_HEW_CONF. */
#ifndef HEW_PREFIX
#define HEW_PREFIX ""
#endif
#ifndef HEW_SETTINGS_NAME
#define HEW_SETTINGS_NAME "MALLOC_CONF"
#endif
#ifndef HEW_OWN_SETTINGS_NAME
#define HEW_OWN_SETTINGS_NAME "HEW_CONF"
#endif
#define HEW_CONF_VARIABLE HEW_PREFIX "malloc_conf variable"
#define HEW_CONF_LINK "/etc/" HEW_PREFIX "malloc.conf"
#define HEW_CONF_HARDER HEW_PREFIX "malloc_conf_2_conf_harder variable"

/* One text for each source, in the order in which they apply; NULL: the source is absent. */
struct hew_conf_input {
    const char *built_in;
    const char *variable;
    const char *link;
    const char *environment;
    const char *own;
    const char *harder;
    hew_conf_warn warn;
    void *context;
};

/* Fills built_in, link, environment and own from this process, and warn with a writer to file descriptor 2. */
void hew_conf_gather(struct hew_conf_input *input);

/* The target of the symbolic link at path, copied into buffer; NULL when there is no link. */
const char *hew_conf_read_link(const char *path, char *buffer, size_t capacity);

/* The argument of the last hew_conf_load(): the texts behind the current settings. */
extern struct hew_conf_input hew_conf_applied;

/* Applies all sources.  False when there was an error and abort_conf is set; later sources are not read then. */
bool hew_conf_load(struct hew_options *options, const struct hew_conf_input *input);

#endif
