/* SPDX-License-Identifier: MIT */
/* tiny: a program that hardly allocates and is over at once: what it costs to have the allocator in the process. */
#include "workload.h"

static long objects = 20;

int
main(int argc, char **argv)
{
    const struct workload_option options[] = {{"objects", &objects, "allocations"}};
    workload_parse(argc, argv, "A few allocations, nothing else.", options, 1);
    for (long i = 0; i < objects; i++)
        free(workload_take((size_t)(16 + i * 24)));
    workload_report("tiny", (uint64_t)objects, 0, (uint64_t)objects);
    return 0;
}
