/* SPDX-License-Identifier: MIT */
#include "prof/mappings.h"

#include "test.h"

static struct hew_mapping own;
static unsigned seen;
static uintptr_t last_end;

static void
look(const struct hew_mapping *mapping, void *context)
{
    uintptr_t here = (uintptr_t)look;
    seen++;
    CHECK(mapping->begin >= last_end && mapping->end > mapping->begin);
    last_end = mapping->end;
    if (here >= mapping->begin && here < mapping->end) {
        own = *mapping;
    }
}

TEST(a_line_is_taken_apart)
{
    static const char line[] = "55d0c0a00000-55d0c0a01000 r-xp 00001000 fe:00 1234        /a path/with blanks";
    struct hew_mapping mapping;
    CHECK(hew_mappings_parse(line, sizeof line - 1, &mapping));
    CHECK_EQUAL(mapping.begin, 0x55d0c0a00000);
    CHECK_EQUAL(mapping.end, 0x55d0c0a01000);
    CHECK_EQUAL(mapping.offset, 0x1000);
    CHECK_TEXT(mapping.path, "/a path/with blanks");
}

TEST(memory_without_a_file_has_no_path)
{
    static const char line[] = "7f00-7f10 rwxp 00000000 00:00 0 ";
    struct hew_mapping mapping;
    CHECK(hew_mappings_parse(line, sizeof line - 1, &mapping));
    CHECK_TEXT(mapping.path, "");
}

TEST(what_cannot_be_run_and_what_is_no_such_line_is_left_out)
{
    static const char *const lines[] = {"7f00-7f10 rw-p 00000000 00:00 0",
                                        "",
                                        "7f00",
                                        "7f00-7f10",
                                        "zz-7f r-xp 0 0 0",
                                        "7f00-7f10 r-x",
                                        "7f00-7f10 r-xp 00"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct hew_mapping mapping;
        CHECK(!hew_mappings_parse(lines[i], strlen(lines[i]), &mapping));
    }
}

TEST(this_program_finds_itself_with_its_build_id)
{
    hew_mappings_each(look, NULL);
    CHECK(seen >= 3); /* the program, libc, the loader */
    CHECK(strstr(own.path, "unit_prof_mappings") != NULL);
    CHECK(own.build_id_bytes == 20 || own.build_id_bytes == 16 || own.build_id_bytes == 0);
    uint8_t id[HEW_BUILD_ID];
    CHECK_EQUAL(hew_mappings_build_id(8, id, sizeof id), 0); /* not mapped */
}
