/* SPDX-License-Identifier: MIT */
/*
 * cfi: looks up the unwind tables that compilers write (.eh_frame) for one address.
 *
 * A rule says how to find the caller's registers at one program counter.  Rules that compilers do not need for ordinary
 * code (arithmetic in expressions) are not supported: such a register counts as lost.
 * Pure functions over mapped tables; nothing is allocated, no lock is taken.
 * Source    the DWARF standard, version 5, section 6.4; the Linux Standard Base on .eh_frame and .eh_frame_hdr.
 */
#ifndef HEW_PROF_CFI_H
#define HEW_PROF_CFI_H

#include "os/registers.h"

#define HEW_CFI_STACK 0xff /* as `base`: the stack pointer */
#define HEW_CFI_SAME INT16_MAX
#define HEW_CFI_LOST INT16_MIN

/* The CFA is the caller's stack pointer: registers[base] + offset or, with `indirect`, the value stored there. */
struct hew_cfi_rule {
    int32_t offset;
    uint8_t base;
    bool indirect;
    bool signal;             /* the frame returns from a signal handler */
    uint16_t by_frame;       /* bit i: saved[i] is relative to the frame pointer, not to the CFA */
    int16_t saved[HEW_KEPT]; /* offset at which the caller's register is stored; HEW_CFI_SAME or HEW_CFI_LOST */
};

/* The rule for `pc` from an object's .eh_frame_hdr.  False when the tables do not cover `pc` or their rules are
 * unsupported. */
bool hew_cfi_find(const uint8_t *index, uintptr_t pc, struct hew_cfi_rule *rule);

/* The code range [begin, end) of the table entry that contains `pc`; false: no entry does. */
bool hew_cfi_function(const uint8_t *index, uintptr_t pc, uintptr_t *begin, uintptr_t *end);

#endif
