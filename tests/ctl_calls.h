/* SPDX-License-Identifier: MIT */
/*
 * ctl_calls: short forms of mallctl's calls for tests of control/mallctl/ctl*, and the names of the table made concrete.
 */
#ifndef HEW_TESTS_CTL_CALLS_H
#define HEW_TESTS_CTL_CALLS_H

#include "control/mallctl/ctl.h"

#include <errno.h>
#include <string.h>

static inline int
ctl_read(const char *name, void *value, size_t size)
{
    return hew_ctl_by_name(name, value, &size, NULL, 0);
}

static inline int
ctl_write(const char *name, const void *value, size_t size)
{
    return hew_ctl_by_name(name, NULL, NULL, value, size);
}

static inline int
ctl_exchange(const char *name, void *before, const void *after, size_t size)
{
    return hew_ctl_by_name(name, before, &size, after, size);
}

static inline int
ctl_do(const char *name)
{
    return hew_ctl_by_name(name, NULL, NULL, NULL, 0);
}

static inline int
ctl_by_mib(const size_t *mib, size_t depth, void *value, size_t size)
{
    struct hew_ctl_call call = {mib, depth, value, value == NULL ? NULL : &size, NULL, 0, NULL};
    return hew_ctl_by_mib(&call);
}

/* The row's name with `index` in the place of <i> and <j>. */
static inline void
ctl_concrete(const struct hew_ctl_row *row, const char *index, char *name)
{
    size_t at = 0;
    for (const char *from = row->name; *from != '\0'; from++) {
        if (*from == '<') {
            memcpy(name + at, index, strlen(index));
            at += strlen(index);
            from = strchr(from, '>');
        } else {
            name[at++] = *from;
        }
    }
    name[at] = '\0';
}

#endif
