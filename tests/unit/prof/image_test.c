/* SPDX-License-Identifier: MIT */
#include "prof/image.h"

#include "os/object.h"

#include "test.h"

#include <stdlib.h>

TEST(the_c_library_tells_where_its_code_is)
{
    struct hew_os_object object;
    struct hew_image_code code;
    uint8_t id[32];
    CHECK(hew_os_find_object((uintptr_t)abort, &object));
    CHECK(hew_image_code(object.begin, &code));
    CHECK(code.begin <= (uintptr_t)abort && (uintptr_t)abort < code.end);
    CHECK(code.begin % 4096 == 0 && code.end % 4096 == 0 && code.offset % 4096 == 0);
    CHECK(hew_image_build_id(object.begin, id, sizeof id) <= sizeof id);
}

TEST(what_is_not_mapped_or_no_such_file_tells_nothing)
{
    static const char text[8192] = "no program";
    struct hew_image_code code;
    uint8_t id[32];
    CHECK_EQUAL(hew_image_build_id(8, id, sizeof id), 0);
    CHECK(!hew_image_code(8, &code));
    CHECK(!hew_image_code((uintptr_t)text, &code));
}
