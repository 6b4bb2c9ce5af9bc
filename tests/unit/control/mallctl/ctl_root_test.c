/* SPDX-License-Identifier: MIT */
/* ctl_root: the version, the purger's switch, and what never changes. */
#include "base/options.h"
#include "control/purger.h"
#include "ctl_calls.h"
#include "layers_alloc.h"
#include "test.h"

TEST(the_version_parses_as_jemallocs_and_says_what_it_is)
{
    const char *version = "";
    unsigned major, minor, bugfix, commits;
    char id[32] = "";
    CHECK_EQUAL(ctl_read("version", &version, sizeof version), 0);
    CHECK_EQUAL(sscanf(version, "%u.%u.%u-%u-g%31s", &major, &minor, &bugfix, &commits, id), 5);
    CHECK(major == 5 && minor == 3 && bugfix == 1);
    CHECK(strncmp(id, "hew", 3) == 0);
}

static void
check_bool(const char *name, bool expected)
{
    bool value = !expected;
    CHECK_EQUAL(ctl_read(name, &value, sizeof value), 0);
    CHECK_EQUAL(value, expected);
}

TEST(config_says_what_is_built_in)
{
    const char *conf = NULL;
    check_bool("config.stats", true);
    check_bool("config.prof", true);
    check_bool("config.fill", true);
    check_bool("config.xmalloc", true);
    check_bool("config.lazy_lock", false);
    check_bool("config.utrace", false);
    check_bool("config.debug", HEW_CHECK_LEVEL > 0);
    CHECK_EQUAL(ctl_read("config.malloc_conf", &conf, sizeof conf), 0);
    CHECK(conf != NULL);
}

TEST(background_thread_gives_its_former_state_and_takes_a_byte_for_truth)
{
    bool before = false;
    char byte = 0;
    hew_options.background_thread = true;
    CHECK_EQUAL(ctl_exchange("background_thread", &before, &byte, 1), 0);
    CHECK(before && !hew_purger_enabled());
    byte = 2;
    CHECK_EQUAL(ctl_exchange("background_thread", &before, &byte, 1), 0);
    CHECK(!before && hew_purger_enabled());
    unsigned wide = 0;
    CHECK_EQUAL(ctl_write("background_thread", &wide, sizeof wide), EINVAL);
    CHECK(hew_purger_enabled() && hew_options.background_thread);
}

TEST(max_background_threads_stays_within_the_setting)
{
    size_t value = 0, more = hew_options.max_background_threads + 1, fewer = 1, none = 0;
    CHECK_EQUAL(ctl_exchange("max_background_threads", &value, &fewer, sizeof value), 0);
    CHECK_EQUAL(value, hew_options.max_background_threads);
    CHECK_EQUAL(ctl_write("max_background_threads", &more, sizeof more), EINVAL);
    CHECK_EQUAL(ctl_write("max_background_threads", &none, sizeof none), EINVAL);
    CHECK_EQUAL(ctl_read("max_background_threads", &value, sizeof value), 0);
    CHECK_EQUAL(value, 1);
}

TEST(the_active_bytes_follow_an_object)
{
    size_t before = 0, with = 0;
    CHECK(layers_boot());
    CHECK_EQUAL(ctl_read("approximate_stats.active", &before, sizeof before), 0);
    void *object = layers_malloc(HEW_CACHED_MAX * 2);
    CHECK_EQUAL(ctl_read("approximate_stats.active", &with, sizeof with), 0);
    CHECK(object != NULL && with >= before + HEW_CACHED_MAX * 2);
    layers_free(object);
}
