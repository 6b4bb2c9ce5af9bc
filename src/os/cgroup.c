/* SPDX-License-Identifier: MIT */
#include "os/cgroup.h"

#include "base/text.h"
#include "os/file.h"

#include <string.h>

#define MEMBERSHIP_BYTES 2048
#define NUMBER_BYTES 64
#define STAT_BYTES 4096
/* Version 1 reports "no limit" as the largest multiple of a page.  No real limit is larger than this. */
#define LIMIT_MOST ((uint64_t)1 << 60)

/* Parses the number at the start of a text.  False: there is none, as in "max". */
static bool
parse_bytes(const char *text, uint64_t *value)
{
    *value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && *value < LIMIT_MOST; at++) {
        *value = *value * 10 + (uint64_t)(*at - '0');
    }
    return at != text;
}

static bool
read_in(const char *folder, const char *name, char *content, size_t capacity)
{
    char path[HEW_CGROUP_PATH_BYTES + NUMBER_BYTES];
    struct hew_text text;
    hew_text_begin(&text, path, sizeof path);
    hew_text_put(&text, folder);
    hew_text_put(&text, name);
    return !text.truncated && hew_file_read(path, content, capacity);
}

/* 0: the file does not exist, or contains no number. */
static size_t
number_in(const char *folder, const char *name)
{
    char content[NUMBER_BYTES];
    uint64_t value;
    return read_in(folder, name, content, sizeof content) && parse_bytes(content, &value) ? (size_t)value : 0;
}

static void
note_limit(struct hew_cgroup *group, const char *folder, bool unified, size_t limit)
{
    struct hew_text text;
    if (limit == 0 || limit >= LIMIT_MOST || (group->limit != 0 && group->limit <= limit)) {
        return;
    }
    group->limit = limit;
    group->unified = unified;
    hew_text_begin(&text, group->folder, sizeof group->folder);
    hew_text_put(&text, folder);
}

/* `folder` ends in the path of the process's group, which starts at `root_length`.  Checks that group, each group above
 * it, and the root.  In a container that sees nothing above, the root is the container's own group. */
static void
look_upwards(struct hew_cgroup *group, char *folder, size_t root_length, bool unified)
{
    for (size_t length = strlen(folder);; length--) {
        if (length == root_length || folder[length] == '/' || folder[length] == '\0') {
            folder[length] = '\0';
            note_limit(group, folder, unified, number_in(folder, unified ? "/memory.max" : "/memory.limit_in_bytes"));
            if (unified) {
                note_limit(group, folder, unified, number_in(folder, "/memory.high"));
            }
        }
        if (length == root_length) {
            return;
        }
    }
}

/* Parses one line of the membership, "number:controllers:path", up to its end. */
static void
look_at_line(struct hew_cgroup *group, const char *line, const char *root)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL) {
        return;
    }
    bool unified = strncmp(line, "0::", 3) == 0;
    if (!unified && strncmp(controllers, ":memory:", 8) != 0) { /* version 1 mounts memory separately */
        return;
    }
    char folder[HEW_CGROUP_PATH_BYTES];
    struct hew_text text;
    hew_text_begin(&text, folder, sizeof folder);
    hew_text_put(&text, root);
    hew_text_put(&text, unified ? "" : "/memory");
    size_t root_length = text.length;
    path++;
    size_t length = strcspn(path, "\n");
    hew_text_put_bytes(&text, path, length == 1 ? 0 : length);
    if (!text.truncated) {
        look_upwards(group, folder, root_length, unified);
    }
}

struct hew_cgroup
hew_cgroup_find(const char *membership, const char *root)
{
    struct hew_cgroup group = {.limit = 0};
    char lines[MEMBERSHIP_BYTES];
    if (!hew_file_read(membership != NULL ? membership : "/proc/self/cgroup", lines, sizeof lines)) {
        return group;
    }
    for (const char *line = lines; *line != '\0'; line += line[0] == '\n') {
        look_at_line(&group, line, root != NULL ? root : "/sys/fs/cgroup");
        line += strcspn(line, "\n");
    }
    return group;
}

/* Returns the value of a line of memory.stat. */
static size_t
stat_of(const char *stat, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = stat; line != NULL; line = strchr(line, '\n')) {
        uint64_t value;
        line += line[0] == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ' ' && parse_bytes(line + length + 1, &value)) {
            return (size_t)value;
        }
    }
    return 0;
}

size_t
hew_cgroup_usage(const struct hew_cgroup *group)
{
    char stat[STAT_BYTES];
    size_t usage = number_in(group->folder, group->unified ? "/memory.current" : "/memory.usage_in_bytes"), files = 0;
    if (usage != 0 && read_in(group->folder, "/memory.stat", stat, sizeof stat)) {
        files = stat_of(stat, group->unified ? "inactive_file" : "total_inactive_file") +
                stat_of(stat, group->unified ? "active_file" : "total_active_file");
    }
    return usage > files ? usage - files : usage;
}
