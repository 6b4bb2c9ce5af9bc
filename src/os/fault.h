/* SPDX-License-Identifier: MIT */
/*
 * fault: the program has touched memory that it may not.
 *
 * Owns      the action of SIGSEGV from the first watch on, until the program sets one of its own.
 * Promises  the action that was there before runs afterwards, with the mask and the flags that it asked for.
 * Called    hew_fault_watch() by one thread at a time, without a lock.
 */
#ifndef HEW_OS_FAULT_H
#define HEW_OS_FAULT_H

#include "base/compiler.h"

enum hew_fault_access { HEW_FAULT_UNKNOWN, HEW_FAULT_READ, HEW_FAULT_WRITE };

struct hew_fault {
    uintptr_t address;
    uintptr_t pc, sp; /* of the instruction */
    enum hew_fault_access access;
};

/* From now on `seen` is called, in a signal handler, for each fault at an address from `begin` up to `end`.  False: the
 * system refused. */
bool hew_fault_watch(uintptr_t begin, uintptr_t end, void (*seen)(const struct hew_fault *fault));

#endif
