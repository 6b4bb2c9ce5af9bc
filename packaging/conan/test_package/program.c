/* SPDX-License-Identifier: MIT */
#include <hew/hew.h>

#include <stdio.h>
#include <stdlib.h>

int
main(void)
{
    void *volatile object = malloc(1 << 20);
    struct hew_figures figures = {0};
    hew_read_figures(&figures, sizeof figures);
    printf("hew %s\n", hew_version());
    free(object);
    return figures.allocated < 1 << 20;
}
