/* SPDX-License-Identifier: MIT */
/*
 * refaults: how much of what went back to the system was wanted again, and how soon.
 *
 * A ledger of the bytes that were returned in each of the last windows.  What is then taken of the system cancels the newest returns
 * first: had they been kept until now, they would have served.
 *
 * Promises  no byte cancels two.  Pure arithmetic: no clock, no lock, no system call.
 * Called    by the purger's thread.
 */
#ifndef HEW_TUNING_REFAULTS_H
#define HEW_TUNING_REFAULTS_H

#include "base/compiler.h"

#define HEW_REFAULTS_ENTRIES 64u

struct hew_refaults {
    struct hew_refaults_entry {
        uint64_t at_ms, bytes;
    } entries[HEW_REFAULTS_ENTRIES]; /* a ring */
    unsigned newest;
};

/* So many bytes went back at `now_ms`, not before any earlier call. */
void hew_refaults_returned(struct hew_refaults *refaults, uint64_t now_ms, uint64_t bytes);

/* Bytes that had gone back and are wanted again, and those of them that had just gone. */
struct hew_refaults_again {
    uint64_t ever, soon;
};

/* So many were taken of the system: how many of them had been returned, and how many within the last `soon_ms`. */
struct hew_refaults_again hew_refaults_taken(struct hew_refaults *refaults, uint64_t now_ms, uint64_t bytes,
                                             uint64_t soon_ms);

#endif
