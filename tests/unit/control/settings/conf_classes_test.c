/* SPDX-License-Identifier: MIT */
/* Unit tests of control/settings/conf_classes: which sizes a value stands for. */
#include "control/settings/conf_classes.h"

#include "own_classes.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct hew_conf_classes classes;

static const char *
read_text(const char *text)
{
    return hew_conf_classes_read(text, strlen(text), &classes).what;
}

TEST(nothing_names_no_classes)
{
    CHECK(read_text("") == NULL);
    CHECK_EQUAL(classes.count, 0);
}

TEST(above_the_last_size_that_is_named_the_usual_coarse_classes_follow)
{
    static const uint16_t wanted[] = {16, 32, 48, 64, 80, 128, 144, 160, 192, 224, 256, 320};
    CHECK(read_text("16|32|48|80|144") == NULL);
    CHECK_EQUAL(memcmp(classes.sizes, wanted, sizeof wanted), 0);
    CHECK_EQUAL(classes.sizes[classes.count - 1], HEW_SMALL_MAX);
    for (unsigned i = 7; i < classes.count; i++) {
        CHECK(!hew_usual_is_fine(hew_usual_code(classes.sizes[i])));
        CHECK(classes.sizes[i] > classes.sizes[i - 1]);
    }
}

TEST(powers_of_two_are_classes_named_or_not)
{
    static const uint16_t all[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 14336};
    CHECK(read_text("14336") == NULL);
    CHECK_EQUAL(classes.count, sizeof all / sizeof *all);
    CHECK_EQUAL(memcmp(classes.sizes, all, sizeof all), 0);
    CHECK(read_text("8|9216") == NULL);
    CHECK_EQUAL(classes.sizes[0], 8);
    CHECK_EQUAL(classes.sizes[10], 8192);
    CHECK_EQUAL(classes.sizes[11], 9216);
}

TEST(a_value_that_reaches_the_largest_small_size_is_taken_as_it_stands)
{
    CHECK(read_text("16|32|64|128|256|512|1024|2048|4096|8192|14336") == NULL);
    CHECK_EQUAL(classes.count, 11);
}

TEST(as_many_classes_as_there_are_codes_and_no_more)
{
    char text[512] = "16";
    for (unsigned size = 32; size <= 32 * 16; size += 16) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "|%u", size);
    }
    CHECK(read_text(text) == NULL);
    unsigned named = 32, usual = classes.count - named;
    for (unsigned size = 33 * 16; named + usual <= HEW_CODE_SMALL_LAST && size < 640; size += 16, named++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "|%u", size);
    }
    CHECK(read_text(text) == NULL);
    for (unsigned size = 640; size < 14336 && strlen(text) < 480; size += 16) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "|%u", size);
    }
    CHECK_TEXT(read_text(text), "more than 63 classes, with the powers of two and the usual ones above the last");
}

/* Whether the classes are those of the table and the powers of two, ascending. */
static bool
has_all_and_no_other(const uint16_t *sizes, unsigned count)
{
    unsigned named = 0;
    for (unsigned i = 0; i < classes.count; i++) {
        size_t size = classes.sizes[i];
        bool ours = named < count && sizes[named] == size, power = (size & (size - 1)) == 0 && size >= 16;
        if ((!ours && !power) || (i > 0 && size <= classes.sizes[i - 1])) {
            return false;
        }
        named += ours;
    }
    for (size_t power = 16, at = 0; power <= 8192; power *= 2) {
        while (at < classes.count && classes.sizes[at] < power) {
            at++;
        }
        if (at == classes.count || classes.sizes[at] != power) {
            return false;
        }
    }
    return named == count;
}

TEST(every_random_table_reads_as_it_was_written_with_the_powers_of_two)
{
    struct layers_random dice = {layers_random_seed()};
    for (unsigned round = 0, whole = 0; whole < 200; round++) {
        uint16_t sizes[HEW_CODE_SMALL_LAST];
        char text[512] = "";
        unsigned count = own_classes_random(&dice, sizes);
        for (unsigned i = 0; i < count; i++) {
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i == 0 ? "" : "|", sizes[i]);
        }
        const char *fault = read_text(text);
        CHECK(fault == NULL || strncmp(fault, "more than", 9) == 0);
        CHECK(fault != NULL || has_all_and_no_other(sizes, count));
        whole += fault == NULL;
        CHECK(round < 10000);
    }
}
