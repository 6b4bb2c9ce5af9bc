/* SPDX-License-Identifier: MIT */
#include "os/object.h"

#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>

TEST(code_of_the_program_and_of_libc_lies_in_two_objects)
{
    struct hew_os_object program, libc;
    CHECK(hew_os_find_object((uintptr_t)hew_os_peek, &program));
    CHECK(hew_os_find_object((uintptr_t)abort, &libc));
    CHECK(program.begin <= (uintptr_t)hew_os_peek && (uintptr_t)hew_os_peek < program.end);
    CHECK(program.begin != libc.begin);
    CHECK(program.unwind_index != NULL && libc.unwind_index != NULL);
}

TEST(other_memory_lies_in_none)
{
    struct hew_os_object object;
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(!hew_os_find_object((uintptr_t)page, &object));
    munmap(page, 4096);
}

TEST(memory_is_copied_and_what_cannot_be_read_is_told)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char copy[8] = "";
    strcpy(pages, "here");
    CHECK(hew_os_peek((uintptr_t)pages, copy, sizeof copy));
    CHECK_TEXT(copy, "here");
    munmap(pages + 4096, 4096);
    CHECK(!hew_os_peek((uintptr_t)pages + 4092, copy, sizeof copy));
    CHECK(!hew_os_peek(8, copy, sizeof copy));
    munmap(pages, 4096);
}
