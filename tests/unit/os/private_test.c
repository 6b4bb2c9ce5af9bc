/* SPDX-License-Identifier: MIT */
/* Unit tests of os/private/bytes, which is linked into this program in place of libc's: against plain loops. */
#include "base/compiler.h"

#include "test.h"

#include <string.h>

#define SIZE 9000

/* volatile: the compiler knows these functions, and would compute what it can by itself. */
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile set)(void *, int, size_t) = memset;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static void *(*volatile find)(const void *, int, size_t) = memchr;
static size_t (*volatile length)(const char *) = strlen;
static size_t (*volatile length_within)(const char *, size_t) = strnlen;
static int (*volatile compare_texts)(const char *, const char *) = strcmp;
static int (*volatile compare_some)(const char *, const char *, size_t) = strncmp;
static char *(*volatile find_first)(const char *, int) = strchr;
static char *(*volatile find_last)(const char *, int) = strrchr;
static char *(*volatile find_part)(const char *, const char *) = strstr;
static size_t (*volatile span)(const char *, const char *) = strcspn;
static char *(*volatile copy_text)(char *, const char *) = strcpy;

static unsigned char bytes[SIZE], wanted[SIZE];

static void
begin(void)
{
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = wanted[i] = (unsigned char)(i * 7 + i / 251);
    }
}

static bool
is_wanted(void)
{
    for (size_t i = 0; i < SIZE; i++) {
        if (bytes[i] != wanted[i]) {
            return false;
        }
    }
    return true;
}

static bool
moves(size_t to, size_t from, size_t size)
{
    unsigned char held[SIZE];
    begin();
    for (size_t i = 0; i < size; i++) {
        held[i] = wanted[from + i];
    }
    for (size_t i = 0; i < size; i++) {
        wanted[to + i] = held[i];
    }
    return move(bytes + to, bytes + from, size) == bytes + to && is_wanted();
}

static const size_t sizes[] = {0,   1,   2,   3,   4,    5,    7,    8,    9,    15,   16,   17,   31,   32,  33,  47,
                               48,  63,  64,  65,  79,   80,   96,   127,  128,  129,  191,  192,  193,  255, 256, 257,
                               500, 512, 640, 999, 1024, 2047, 2048, 2049, 2055, 2056, 2100, 4000, 4096, 4100};
#define SIZES (sizeof sizes / sizeof sizes[0])

TEST(bytes_move_whatever_the_size_and_the_distance)
{
    static const size_t distances[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 128, 500, 2048, 4200};
    for (unsigned i = 0; i < SIZES; i++) {
        for (unsigned k = 0; k < sizeof distances / sizeof distances[0]; k++) {
            CHECK(moves(64 + distances[k], 64, sizes[i]));
            CHECK(moves(64, 64 + distances[k], sizes[i]));
        }
    }
}

TEST(bytes_are_copied_and_set)
{
    for (unsigned i = 0; i < SIZES; i++) {
        begin();
        for (size_t at = 0; at < sizes[i]; at++) {
            wanted[4403 + at] = wanted[5 + at];
        }
        CHECK(copy(bytes + 4403, bytes + 5, sizes[i]) == bytes + 4403 && is_wanted());
        begin();
        for (size_t at = 0; at < sizes[i]; at++) {
            wanted[3 + at] = 0xa5;
        }
        CHECK(set(bytes + 3, 0x7a5, sizes[i]) == bytes + 3 && is_wanted());
    }
}

TEST(bytes_compare_by_the_first_difference_as_unsigned)
{
    for (unsigned i = 0; i < SIZES; i++) {
        begin();
        CHECK(compare(bytes, wanted, sizes[i]) == 0);
        for (size_t at = 0; at < sizes[i]; at += sizes[i] / 5 + 1) {
            begin();
            bytes[at] = 0xff;
            wanted[at] = 1;
            wanted[sizes[i] - 1] = at == sizes[i] - 1 ? 1 : 0xff;
            CHECK(compare(bytes, wanted, sizes[i]) > 0 && compare(wanted, bytes, sizes[i]) < 0);
        }
    }
}

TEST(texts_are_what_libc_says_of_them)
{
    char text[] = "a text: with colons: three";
    CHECK(length(text) == 26 && length("") == 0 && length_within(text, 5) == 5 && length_within("ab", 5) == 2);
    CHECK(find(text, ':', 26) == text + 6 && find(text, ':', 6) == NULL && find("\xff", 0xff, 1) != NULL);
    CHECK(find_first(text, ':') == text + 6 && find_first(text, '\0') == text + 26 && find_first(text, 'z') == NULL);
    CHECK(find_last(text, ':') == text + 19 && find_last(text, '\0') == text + 26 && find_last(text, 'z') == NULL);
    CHECK(find_part(text, "colons: t") == text + 13 && find_part(text, "") == text &&
          find_part(text, "threes") == NULL);
    CHECK(span(text, ":q") == 6 && span(text, "z") == 26 && span("", "z") == 0);
    CHECK(compare_texts("ab", "ab") == 0 && compare_texts("ab", "abc") < 0 && compare_texts("\xff", "a") > 0);
    CHECK(compare_some("abc", "abd", 2) == 0 && compare_some("abc", "abd", 3) < 0 && compare_some("", "", 9) == 0);
    CHECK(copy_text(text + 8, "new") == text + 8 && compare_texts(text, "a text: new") == 0);
}
