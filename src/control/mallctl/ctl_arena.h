/* SPDX-License-Identifier: MIT */
/*
 * ctl_arena: declarations that ctl_arena.c and ctl_arenas.c share.
 */
#ifndef HEW_CONTROL_MALLCTL_CTL_ARENA_H
#define HEW_CONTROL_MALLCTL_CTL_ARENA_H

#include "control/mallctl/ctl.h"
#include "slab/arena.h"

/* Indices that do not name a single arena; they are compiled into programs. */
#define HEW_CTL_ARENAS_ALL 4096u
#define HEW_CTL_ARENAS_DESTROYED 4097u

/* Reads and sets a decay time; with `arena` NULL, that of arenas created later. */
int hew_ctl_exchange_decay_ms(const struct hew_ctl_call *call, struct hew_arena *arena);

#endif
