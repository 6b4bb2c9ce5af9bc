/* SPDX-License-Identifier: MIT */
/* parts: see parts.h. */
#include "profile/parts.h"

void
profile_parts_begin(struct profile_parts *parts)
{
    *parts = (struct profile_parts){.lg_length = 0};
}

/* Merges pairs of intervals.  Of two equally high moments the earlier one stays. */
static void
join(struct profile_parts *parts)
{
    for (uint32_t i = 0; i < PROFILE_PARTS / 2; i++) {
        uint32_t one = 2 * i, other = one + 1;
        bool second =
            parts->operation[one] == 0 || (parts->operation[other] != 0 && parts->bytes[other] > parts->bytes[one]);
        parts->bytes[i] = parts->bytes[second ? other : one];
        parts->operation[i] = parts->operation[second ? other : one];
    }
    for (uint32_t i = PROFILE_PARTS / 2; i < PROFILE_PARTS; i++) {
        parts->bytes[i] = parts->operation[i] = 0;
    }
    parts->lg_length++;
    parts->count = (parts->count + 1) / 2;
}

void
profile_parts_take(struct profile_parts *parts, uint64_t time, uint64_t operation, uint64_t bytes)
{
    uint32_t part;

    while (time >> parts->lg_length >= PROFILE_PARTS) {
        join(parts);
    }
    part = (uint32_t)(time >> parts->lg_length);
    if (parts->operation[part] == 0 || bytes > parts->bytes[part]) {
        parts->bytes[part] = bytes;
        parts->operation[part] = operation;
    }
    parts->count = part + 1 > parts->count ? part + 1 : parts->count;
}
