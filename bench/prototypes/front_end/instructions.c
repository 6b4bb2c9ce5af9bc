/* SPDX-License-Identifier: MIT */
/*
 * instructions: short, fixed work whose instructions callgrind attributes to malloc and free, slow paths included.
 * Run by instructions.sh.
 */
#include <stdint.h>
#include <string.h>

#include "proto.h"

enum { LIVE = 1000, ROUNDS = 100 };

static char *objects[LIVE];
static uint32_t state = 1;

static uint32_t
below(uint32_t bound)
{
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)state * bound >> 32);
}

int
main(int count, char **arguments)
{
    const char *kind = count > 1 ? arguments[1] : "lifo";
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LIVE; i++) {
            if (strcmp(kind, "lifo") == 0) {
                proto_free(proto_malloc(64));
            } else if (strcmp(kind, "batch") == 0) {
                objects[i] = proto_malloc(128);
            } else {
                uint32_t k = below(LIVE);
                proto_free(objects[k]);
                objects[k] = proto_malloc(1 + below(512));
            }
        }
        for (int i = 0; i < LIVE && strcmp(kind, "batch") == 0; i++) {
            proto_free(objects[i]);
        }
    }
    return 0;
}
