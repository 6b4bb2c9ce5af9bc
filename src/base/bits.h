/* SPDX-License-Identifier: MIT */
/*
 * bits: powers of two and rounding.  Pure functions.
 */
#ifndef HEW_BASE_BITS_H
#define HEW_BASE_BITS_H

#include "base/compiler.h"

/* Returns the index of the highest set bit.  `value` must not be 0. */
HEW_INLINE unsigned
hew_bits_floor_log2(uint64_t value)
{
    return 63u - (unsigned)__builtin_clzll(value);
}

/* Returns the smallest n with 2^n >= value.  `value` must not be 0. */
HEW_INLINE unsigned
hew_bits_ceil_log2(uint64_t value)
{
    return value <= 1 ? 0 : hew_bits_floor_log2(value - 1) + 1;
}

HEW_INLINE bool
hew_bits_is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* Counts the set bits.  Not the compiler's builtin: without the CPU instruction it calls a library function at the far
 * end of hew's code.  The steps add pairs, then fours, then bytes; the product adds all bytes. */
HEW_INLINE unsigned
hew_bits_count(uint64_t value)
{
    value -= value >> 1 & UINT64_C(0x5555555555555555);
    value = (value & UINT64_C(0x3333333333333333)) + (value >> 2 & UINT64_C(0x3333333333333333));
    value = (value + (value >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(value * UINT64_C(0x0101010101010101) >> 56);
}

/* Round to a multiple of `unit`, a power of two.  Rounding up wraps to 0 beyond the type's range. */
HEW_INLINE uintptr_t
hew_bits_round_up(uintptr_t value, uintptr_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

HEW_INLINE uintptr_t
hew_bits_round_down(uintptr_t value, uintptr_t unit)
{
    return value & ~(unit - 1);
}

#endif
