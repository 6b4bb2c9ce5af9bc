/* SPDX-License-Identifier: MIT */
#include "control/mallctl/report_general.h"

#include "alloc/pressure.h"
#include "base/options.h"
#include "layers_alloc.h"
#include "test.h"

static char heard[1 << 18];
static size_t length;

static void
hear(void *context, const char *piece)
{
    size_t bytes = strlen(piece);
    memcpy(heard + length, piece, bytes + 1);
    length += bytes;
}

static void
print(const char *letters)
{
    length = 0;
    hew_report_print(&(struct hew_report_order){hear, NULL, letters, hew_report_general});
}

static bool
says(const char *text)
{
    return strstr(heard, text) != NULL;
}

TEST(the_text_names_what_was_built_and_what_is_set)
{
    CHECK(layers_boot());
    hew_options.narenas = 0;
    hew_options.muzzy_decay_ms = -1;
    strcpy(hew_options.prof_prefix, "a\"b");
    print("");
    CHECK(says("\nBuild-time option settings\n  config.cache_oblivious: ") && says("\n  config.stats: true\n"));
    CHECK(says("\nSystem configuration\n  thp_mode: "));
    CHECK(says("\nRun-time option settings\n  opt.abort: false\n") && says("\n  opt.dss: \"secondary\"\n"));
    CHECK(says("\n  opt.dirty_decay_ms: 10000 (arenas.dirty_decay_ms: 10000)\n"));
    CHECK(says("\n  opt.hpa_dirty_mult: \"0.25\"\n") && says("\n  opt.prof_prefix: \"a\"b\"\n"));
    CHECK(!says("opt.narenas: 0\n") && !says("opt.lg_tcache_max"));
    CHECK(says("\nArenas: ") && says("\nQuantum size: 16\n") && says("\nPage size: 4096\n"));
    CHECK(says("\nNumber of bin size classes: 63\n") && says("\nNumber of large size classes: 196\n"));
}

TEST(json_has_each_setting_with_its_type)
{
    print("J");
    CHECK(says("\"config\":{\"cache_oblivious\":") && says("\"system\":{\"thp_mode\":\""));
    CHECK(says("\"opt\":{\"abort\":false,") && says("\"muzzy_decay_ms\":-1,") && says("\"hpa_dirty_mult\":\"0.25\""));
    CHECK(says("\"prof_prefix\":\"a\\\"b\"") && says("\"junk\":\"false\"") && says("\"bin_shards\":\"\""));
    CHECK(says("\"bin\":[{\"size\":8,\"nregs\":") && says("\"lextent\":[{\"size\":16384},{\"size\":20480},"));
    CHECK(says("{\"size\":8070450532247928832}]"));
}

TEST(ranges_are_shown_as_they_are_set)
{
    hew_options.bin_shards = (struct hew_option_ranges){2, {{1, 160, 8}, {256, 512, 2}}};
    print("J");
    CHECK(says("\"bin_shards\":\"1-160:8|256-512:2\""));
    hew_options.hpa_dirty_mult.thousandths = -1000;
    print("");
    CHECK(says("\n  opt.hpa_dirty_mult: \"-1\"\n"));
}

/* A limit holds from now on: the last test. */
TEST(a_limit_that_is_known_is_told_with_its_source_and_what_it_has_cost)
{
    print("");
    CHECK(!says("Limit of memory"));
    hew_options.limit = (size_t)1 << 40;
    hew_options.limit_hard = (size_t)1 << 41;
    hew_pressure_begin();
    print("");
    CHECK(says("\nLimit of memory\n  source: \"limit\"\n  bytes: 1099511627776\n  held: "));
    CHECK(says("\n  looks: 0\n  relieved: 0\n  returned: 0\n"));
    print("J");
    CHECK(says("\"limit\":{\"source\":\"limit\",\"bytes\":1099511627776,\"held\":") &&
          says("\"relieved\":0,\"returned\":0}"));
    hew_options.limit = 0;
    print("J");
    CHECK(says("\"limit\":{\"source\":\"limit_hard\",\"bytes\":2199023255552,"));
}
