/* SPDX-License-Identifier: MIT */
/* image: code of libc and the loader is told from the program's. */
#include "os/image.h"

#include "test.h"

#include <link.h>
#include <stdlib.h>

TEST(libc_s_functions_are_libc_s)
{
    CHECK(!hew_image_is_static());
    CHECK(hew_image_is_libc((const void *)(uintptr_t)abort));
    CHECK(hew_image_is_libc((const void *)(uintptr_t)printf));
}

TEST(the_loader_counts_as_libc)
{
    CHECK(hew_image_is_libc((const void *)_r_debug.r_brk));
}

TEST(the_program_is_not_libc)
{
    int on_stack = 0;
    CHECK(!hew_image_is_libc((const void *)(uintptr_t)main));
    CHECK(!hew_image_is_libc(&on_stack));
    CHECK(!hew_image_is_libc(NULL));
}
