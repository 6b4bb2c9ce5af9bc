/* SPDX-License-Identifier: MIT */
/*
 * cfi: the tables that compilers write for unwinding (.eh_frame), read for one address.
 *
 * A rule says how, at one program counter, the caller's registers are found.  Rules that no compiler needs for ordinary
 * code (arithmetic in expressions) are not known: such a register counts as lost.
 * Pure functions over mapped tables; nothing is allocated, no lock is taken.
 * Source    the DWARF standard, version 5, section 6.4; the Linux Standard Base on .eh_frame and .eh_frame_hdr.
 */
#ifndef HEW_PROF_CFI_H
#define HEW_PROF_CFI_H

#include "os/registers.h"

#define HEW_CFI_STACK 0xff /* as `base`: the stack pointer */
#define HEW_CFI_SAME INT16_MAX
#define HEW_CFI_LOST INT16_MIN

/* CFA = registers[base] + offset, or, `indirect`, what is stored there: the caller's stack pointer. */
struct hew_cfi_rule {
    int32_t offset;
    uint8_t base;
    bool indirect;
    bool signal;             /* this is the return from a signal handler */
    uint16_t by_frame;       /* a bit for each of `saved` that is counted from the frame pointer, not from the CFA */
    int16_t saved[HEW_KEPT]; /* where the caller's register is stored; HEW_CFI_SAME or HEW_CFI_LOST */
};

/* The rule for `pc` by an object's .eh_frame_hdr; false when the tables do not cover it or say what is not known. */
bool hew_cfi_find(const uint8_t *index, uintptr_t pc, struct hew_cfi_rule *rule);

/* The code [begin, end) that one entry of the tables covers, with `pc` in it; false: no entry does. */
bool hew_cfi_function(const uint8_t *index, uintptr_t pc, uintptr_t *begin, uintptr_t *end);

#endif
