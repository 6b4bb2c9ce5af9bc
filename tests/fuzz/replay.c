/* SPDX-License-Identifier: MIT */
/* replay: see replay.h. */
#include "fuzz/replay.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static struct sigaction handlers_before[sizeof(deaths) / sizeof(deaths[0])];
static char how_to_repeat[64];
static int how_to_repeat_length;

/* Tells how to repeat, then steps aside: the fault strikes again and meets the handler before us (a sanitizer's). */
static void
on_death(int signal)
{
    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
        sigaction(deaths[i], &handlers_before[i], NULL);
    }
    if (write(STDERR_FILENO, how_to_repeat, (size_t)how_to_repeat_length) < 0) {
        _exit(1);
    }
}

int
main(int argc, char **argv)
{
    static uint8_t data[1 << 16];
    struct sigaction death = {.sa_handler = on_death};
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
        sigaction(deaths[i], &death, &handlers_before[i]);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t random = seed + i;
        how_to_repeat_length =
            snprintf(how_to_repeat, sizeof(how_to_repeat), "to repeat, give the arguments: 1 %" PRIu64 "\n", seed + i);
        LLVMFuzzerTestOneInput(data, fuzz_make_input(&random, data, sizeof(data)));
    }
    printf("%" PRIu64 " inputs from seed %" PRIu64 ", none failed\n", count, seed);
    return count == 0;
}
