/* SPDX-License-Identifier: MIT */
/*
 * images: pictures of all sizes, one after the other, each through four filters.
 *
 * A filter makes the next picture in zeroed memory and works with a buffer for each of its rows; the third one halves both
 * sides.  So one or two large objects live at a time, whose sizes never come again, with thousands of small ones between them.
 */
#include "workload.h"

enum { FILTERS = 4, HALVING = 2, PIXEL = 4 };

struct picture {
    size_t width, height;
    unsigned char *pixels;
};

static long pictures = 100, low_side = 200, high_side = 1600;

/* A row of the next picture: made in a buffer of its own, every step-th byte of the former row made brighter by its line. */
static void
filter_row(const struct picture *from, struct picture *to, size_t line, unsigned char *row)
{
    size_t step = from->width / to->width, bytes = to->width * PIXEL;
    const unsigned char *source = from->pixels + line * step * from->width * PIXEL;
    for (size_t at = 0; at < bytes; at++)
        row[at] = (unsigned char)(source[at * step] + (unsigned char)line);
    memcpy(to->pixels + line * bytes, row, bytes);
}

static struct picture
filter(struct picture from, size_t shrink)
{
    struct picture to = {from.width / shrink, from.height / shrink, NULL};
    unsigned char **rows = workload_take(to.height * sizeof *rows);
    to.pixels = calloc(to.height, to.width * PIXEL);
    if (to.pixels == NULL)
        workload_fail("images", "out of memory");
    for (size_t line = 0; line < to.height; line++) {
        rows[line] = workload_take(to.width * PIXEL);
        filter_row(&from, &to, line, rows[line]);
    }
    for (size_t line = 0; line < to.height; line++)
        free(rows[line]);
    free(rows);
    free(from.pixels);
    return to;
}

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {
        {"pictures", &pictures, "pictures"},
        {"low-side", &low_side, "shortest side of a picture, in pixels"},
        {"high-side", &high_side, "longest one"},
    };
    workload_parse(argc, argv, "Pictures of all sizes, each through four filters.", options, 3);
    workload_require("low-side", low_side, HALVING, 10000);
    workload_require("high-side", high_side, low_side, 10000);
    uint64_t random = 11, checksum = 0;
    double start = workload_seconds();
    for (long i = 0; i < pictures; i++) {
        struct picture picture = {.width = workload_between(&random, (uint64_t)low_side, (uint64_t)high_side)};
        picture.height = workload_between(&random, (uint64_t)low_side, (uint64_t)high_side);
        picture.pixels = workload_take(picture.width * picture.height * PIXEL);
        memset(picture.pixels, (int)i, picture.width * picture.height * PIXEL);
        for (size_t step = 0; step < FILTERS; step++)
            picture = filter(picture, step == HALVING ? 2 : 1);
        checksum = workload_mix(checksum, picture.pixels[picture.width * picture.height * PIXEL - 1]);
        free(picture.pixels);
    }
    workload_report("images", (uint64_t)(pictures * FILTERS), workload_seconds() - start, checksum);
    return 0;
}
