/* SPDX-License-Identifier: MIT */
#include "prof/mappings.h"

#include "prof/modules.h"

#include "test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

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
}

/* The loader may have reached a file through links: /lib for /usr/lib, libasan.so.8 for libasan.so.8.0.0. */
static bool
is_one_file(const char *path, const char *other)
{
    struct stat one, two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

static unsigned of_loader, in_both;

static void
look_in_both(const struct hew_mapping *mapping, void *context)
{
    const struct hew_mapping *other = context;
    in_both += other->begin == mapping->begin && other->end == mapping->end && other->offset == mapping->offset &&
               is_one_file(other->path, mapping->path) && other->build_id_bytes == mapping->build_id_bytes;
}

static void
look_again(const struct hew_mapping *mapping, void *context)
{
    struct hew_mapping copy = *mapping;
    bool is_library = mapping->path[0] == '/' && strstr(mapping->path, "unit_prof_mappings") == NULL;
    CHECK(mapping->begin >= last_end);
    last_end = mapping->end;
    of_loader += is_library;
    if (is_library) { /* the program's path is as it was called */
        hew_mappings_each(look_in_both, &copy);
    }
}

TEST(the_loader_tells_of_libraries_what_proc_tells)
{
    last_end = 0;
    hew_mappings_of_loader(look_again, NULL);
    CHECK(of_loader >= 2); /* libc, the loader */
    CHECK_EQUAL(in_both, of_loader);
}

static void
find_library(const struct hew_mapping *mapping, void *context)
{
    struct hew_mapping *found = context;
    if (strstr(mapping->path, "libBrokenLocale") != NULL) {
        *found = *mapping;
    }
}

TEST(a_library_that_was_noted_stays_known_when_it_is_closed)
{
    struct hew_mapping open = {0}, closed = {0};
    struct hew_os_object object;
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW); /* of glibc, and not used */
    void *symbol = library == NULL ? NULL : dlsym(library, "__ctype_get_mb_cur_max");
    TEST_SKIP_IF(symbol == NULL, "libBrokenLocale, a library that nothing uses, is not here");
    CHECK(hew_os_find_object((uintptr_t)symbol, &object));
    hew_modules_note(&object);
    hew_modules_note(&object);
    hew_mappings_each(find_library, &open);
    CHECK(open.begin != 0 && !open.closed);
    dlclose(library);
    CHECK(!hew_os_find_object((uintptr_t)symbol, &object));
    hew_mappings_each(find_library, &closed);
    CHECK(closed.closed);
    CHECK_EQUAL(closed.begin, open.begin);
    CHECK_EQUAL(closed.offset, open.offset);
    CHECK_EQUAL(closed.build_id_bytes, open.build_id_bytes);
    CHECK(memcmp(closed.build_id, open.build_id, open.build_id_bytes) == 0);
    CHECK(is_one_file(closed.path, open.path));
}
