/* SPDX-License-Identifier: MIT */
/* cgroup: limits and usage out of a folder that looks like /sys/fs/cgroup. */
#include "os/cgroup.h"

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void
write_file(const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(content, file) >= 0 && fclose(file) == 0);
}

/* Empties the stage: a new folder with the groups /service, /service/worker and memory/box in it. */
static void
begin(void)
{
    static const char *const folders[] = {"service", "service/worker", "memory", "memory/box"};
    strcpy(root, "/tmp/hew-cgroup-XXXXXX");
    CHECK(mkdtemp(root) != NULL);
    for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        CHECK_EQUAL(mkdir(path, 0700), 0);
    }
}

static void
end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_EQUAL(system(command), 0);
}

static struct hew_cgroup
find(const char *membership)
{
    char path[128];
    write_file("membership", membership);
    snprintf(path, sizeof path, "%s/membership", root);
    return hew_cgroup_find(path, root);
}

TEST(the_least_limit_of_the_group_and_of_those_above_it_counts)
{
    begin();
    write_file("service/worker/memory.max", "300000000\n");
    write_file("service/worker/memory.high", "max\n");
    CHECK_EQUAL(find("0::/service/worker\n").limit, 300000000);
    write_file("service/memory.max", "200000000\n");
    CHECK_EQUAL(find("0::/service/worker\n").limit, 200000000);
    write_file("service/worker/memory.high", "150000000\n");
    CHECK_EQUAL(find("0::/service/worker\n").limit, 150000000);
    write_file("memory.max", "100000000\n"); /* a container sees its own group as the root */
    CHECK_EQUAL(find("0::/\n").limit, 100000000);
    end();
}

TEST(a_group_without_a_limit_has_none)
{
    begin();
    CHECK_EQUAL(find("0::/service\n").limit, 0);
    write_file("service/memory.max", "max\n");
    CHECK_EQUAL(find("0::/service\n").limit, 0);
    write_file("memory/box/memory.limit_in_bytes", "9223372036854771712\n"); /* version 1's word for it */
    CHECK_EQUAL(find("4:memory:/box\n0::/\n").limit, 0);
    CHECK_EQUAL(find("nonsense").limit, 0);
    CHECK_EQUAL(find("4:memory\n::\n").limit, 0);
    CHECK_EQUAL(hew_cgroup_find("/nowhere", root).limit, 0);
    end();
}

TEST(a_version_1_group_is_found_by_its_controller)
{
    begin();
    write_file("memory/box/memory.limit_in_bytes", "104857600\n");
    struct hew_cgroup group = find("9:cpu:/box\n4:memory:/box\n0::/\n");
    CHECK_EQUAL(group.limit, 104857600);
    CHECK(!group.unified);
    write_file("memory/box/memory.usage_in_bytes", "5000000\n");
    CHECK_EQUAL(hew_cgroup_usage(&group), 5000000);
    write_file("memory/box/memory.stat", "cache 7\ntotal_inactive_file 1000000\ntotal_active_file 500000\n");
    CHECK_EQUAL(hew_cgroup_usage(&group), 3500000);
    end();
}

TEST(pages_of_files_are_not_usage)
{
    begin();
    write_file("service/memory.max", "100000000\n");
    struct hew_cgroup group = find("0::/service\n");
    CHECK_EQUAL(hew_cgroup_usage(&group), 0); /* not known */
    write_file("service/memory.current", "90000000\n");
    CHECK_EQUAL(hew_cgroup_usage(&group), 90000000);
    write_file("service/memory.stat", "anon 1\nfile 60000000\ninactive_file 40000000\nactive_file 20000000\n");
    CHECK_EQUAL(hew_cgroup_usage(&group), 30000000);
    end();
}
