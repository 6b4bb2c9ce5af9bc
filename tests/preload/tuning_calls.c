/* SPDX-License-Identifier: MIT */
/*
 * tuning_calls: glibc's own calls for settings and statistics, as programs use them: mallopt, malloc_trim, mallinfo,
 * mallinfo2, malloc_info, malloc_stats.
 */
#include "under_test.h"
#include "unit/test.h"

#include <malloc.h>
#include <sys/mman.h>

TEST(mallopt_accepts_what_programs_set)
{
    CHECK_EQUAL(mallopt(M_MMAP_THRESHOLD, 128 * 1024), 1);
    CHECK_EQUAL(mallopt(M_TRIM_THRESHOLD, 128 * 1024), 1);
    CHECK_EQUAL(mallopt(M_ARENA_MAX, 2), 1);
    void *object = malloc(1000000);
    CHECK(object != NULL);
    free(object);
}

TEST(malloc_trim_says_whether_it_returned_memory)
{
    void *object = malloc((size_t)64 << 20);
    memset(object, 1, (size_t)64 << 20);
    free(object);
    int returned = malloc_trim(0);
    CHECK(returned == 0 || returned == 1);
    CHECK(malloc_trim(SIZE_MAX / 2) == 0 || returned == 1);
}

TEST(mallinfo2_counts_what_the_program_holds)
{
    const size_t held = (size_t)96 << 20;
    struct mallinfo2 before = mallinfo2();
    unsigned char *object = malloc(held);
    struct mallinfo2 during = mallinfo2();
    object[0] = 1;
    free(object);
    struct mallinfo2 after = mallinfo2();
    UNDER_TEST_HEW_ALONE();
    CHECK(during.uordblks + during.hblkhd >= before.uordblks + before.hblkhd + held);
    CHECK(after.uordblks + after.hblkhd < during.uordblks + during.hblkhd);
    CHECK(mallinfo().uordblks >= 0);
}

TEST(malloc_info_writes_xml_and_refuses_options)
{
    char text[4096] = "";
    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK_EQUAL(malloc_info(0, file), 0);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    CHECK(strncmp(text, "<malloc", 7) == 0);
    CHECK(length == sizeof text - 1 || strstr(text, "</malloc>") != NULL);
    CHECK(malloc_info(1, file) != 0);
    fclose(file);
}

TEST(malloc_stats_writes_to_stderr_only)
{
    int file = memfd_create("stats", 0), kept = dup(STDERR_FILENO);
    CHECK(file >= 0 && kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    malloc_stats();
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    CHECK(lseek(file, 0, SEEK_END) > 0);
    close(kept);
    close(file);
}
