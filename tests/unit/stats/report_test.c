/* SPDX-License-Identifier: MIT */
#include "stats/report.h"

#include "cache/magazine.h"
#include "cache/thread.h"
#include "layers_alloc.h"
#include "test.h"

static char heard[1 << 20];
static size_t length;

static void
hear(void *context, const char *piece)
{
    size_t bytes = strlen(piece);
    CHECK(length + bytes < sizeof heard);
    memcpy(heard + length, piece, bytes + 1);
    length += bytes;
}

static void
general(struct hew_report *report)
{
    if (report->as_json) {
        hew_json_text(&report->json, "version", "x");
    } else {
        hew_writer_put(&report->out, "Version: x\n");
    }
}

static const char *
print(const char *letters)
{
    length = 0;
    heard[0] = '\0';
    hew_report_print(&(struct hew_report_order){hear, NULL, letters, general});
    return heard;
}

static bool
says(const char *text)
{
    return strstr(heard, text) != NULL;
}

static unsigned
count(const char *text)
{
    unsigned found = 0;
    for (const char *at = heard; (at = strstr(at, text)) != NULL; at++) {
        found++;
    }
    return found;
}

TEST(a_report_is_possible_before_the_first_object)
{
    CHECK(layers_boot());
    print(NULL);
    CHECK(strncmp(heard, "___ Begin jemalloc statistics ___\n", 34) == 0);
    CHECK_TEXT(heard + length - 32, "--- End jemalloc statistics ---\n");
}

TEST(the_text_has_the_lines_that_are_looked_for)
{
    struct hew_cache *cache = hew_thread_birth(true);
    CHECK(hew_magazine_pop(cache, hew_code_of_size(100)) != NULL);
    CHECK(hew_large_take(cache->arena, 100000, HEW_PAGE, hew_code_of_size(100000)) != NULL);
    print("");
    CHECK(says("Version: x\n") && says("\nAllocated: ") && says(", active: ") && says(", metadata: ") &&
          says(" (n_thp 0, edata ") && says("), resident: ") && says(", mapped: ") && says(", retained: "));
    CHECK(says("\narenas[0]:\n") && says("\nassigned threads: 1\n") && says("\nuptime: ") && says("\ndecaying:") &&
          says("\nsmall: ") && says("\nlarge: ") && says("\ntotal: ") && says("\nbins: ") && says("\nextents:") &&
          says("(#/sec)") && says(" ---\n"));
    CHECK(!says("Merged arenas stats:"));
}

TEST(the_sum_of_several_arenas_is_a_table_of_its_own)
{
    CHECK(hew_arena_get(1) != NULL);
    print("");
    CHECK_EQUAL(count("Merged arenas stats:\n"), 1);
    CHECK_EQUAL(count("arenas[1]:\n"), 1);
    CHECK(!says("Destroyed arenas stats:"));
}

TEST(each_letter_leaves_its_part_out)
{
    print("g");
    CHECK(!says("Version"));
    print("m");
    CHECK(!says("Merged") && says("arenas[0]:"));
    print("a");
    CHECK(says("Merged") && !says("arenas[0]:"));
    print("b");
    CHECK(!says("\nbins: ") && says("extents_dirty"));
    print("l");
    CHECK(!says("curlextents") && says("\nbins: "));
    print("x");
    CHECK(!says("extents_dirty") && !says("num_spin_acq"));
    print("e");
    CHECK(!says("\nextents:") && says("\nbins: "));
    print("h");
    CHECK(!says("HPA"));
}

TEST(unknown_letters_mean_nothing)
{
    print("m");
    size_t before = length;
    print("zmQm ");
    CHECK(length + 200 > before && before + 200 > length); /* numbers may have grown */
    CHECK(!says("Merged") && says("arenas[0]:"));
}

TEST(json_is_one_line_with_jemallocs_outline)
{
    print("J");
    CHECK(strchr(heard, '\n') == NULL);
    CHECK(strncmp(heard, "{\"jemalloc\":{\"version\":\"x\",\"stats\":{\"allocated\":", 47) == 0);
    CHECK(says("\"stats.arenas\":{\"merged\":{\"dss\":\"N/A\"") && says("\"0\":{\"name\":\"auto_0\"") &&
          says("\"uptime_ns\":") && says("\"dirty_decay_ms\":-1"));
    CHECK_EQUAL(count("\"curregs\":"), 3 * HEW_STATS_BINS);
    CHECK_EQUAL(count("\"curlextents\":"), 3 * 196);
    CHECK_EQUAL(count("\"ndirty\":"), 3 * (199 + 1));
    CHECK(!says("\"nslabs\""));
    CHECK_TEXT(heard + length - 3, "}}}");
}

TEST(json_with_every_letter_has_only_totals)
{
    print("Jgmdablxeh");
    CHECK(strncmp(heard, "{\"jemalloc\":{\"stats\":{\"allocated\":", 33) == 0);
    CHECK(says("\"background_thread\":{\"num_threads\":0,\"num_runs\":0,\"run_interval\":0}}}}"));
    CHECK(!says("arenas") && !says("mutexes") && length < 700);
}

TEST(without_memory_a_report_says_so)
{
    hew_os_faults.refuse = layers_refuse_everything;
    layers_use_up_metadata();
    /* The snapshot's memory is there, the copy that is printed is not. */
    print("J");
    hew_os_faults.refuse = NULL;
    CHECK_TEXT(heard, "hew: no memory for statistics\n");
}
