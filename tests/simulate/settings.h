/* SPDX-License-Identifier: MIT */
/*
 * settings: what a seed says of a run before it begins: the machine, the system, the library's settings, the program.
 */
#ifndef HEW_SIMULATE_SETTINGS_H
#define HEW_SIMULATE_SETTINGS_H

#include "run.h"

struct program_habits {
    unsigned threads, slots, size_kind;
    unsigned remote;   /* of 256: an operation is on any thread's objects */
    unsigned controls; /* of 65536: an operation is none on an object */
    unsigned keeps;    /* of 256: an operation on an object leaves it */
    unsigned rests;    /* of 65536: after an operation time passes */
    uint64_t rest_ms;
    unsigned phases;
    bool free_only; /* the last thread makes no objects */
    bool forks, pools;
    bool refuses;
    bool unmaps; /* retain:false */
};
extern struct program_habits program_habits;

/* Draws them all, and sets the library's. */
void settings_draw(const struct run_plan *plan, char *text, size_t room);

#endif
