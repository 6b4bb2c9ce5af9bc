/* SPDX-License-Identifier: MIT */
#include "control/settings/conf_number.h"

static unsigned
digit_value(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return (unsigned)(byte - '0');
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? (unsigned)(byte - 'a') + 10 : 16;
}

const char *
hew_conf_number_digits(const char *at, const char *end, unsigned base, uint64_t *value)
{
    const char *cursor = at;

    *value = 0;
    for (; cursor < end && digit_value(*cursor) < base; cursor++) {
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, digit_value(*cursor), value)) {
            return at;
        }
    }
    return cursor;
}

const char *
hew_conf_number_read(const char *at, const char *end, struct hew_conf_number *number)
{
    const char *past;
    unsigned base = 10;

    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) {
        at++;
    }
    number->negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) {
        at++;
    }
    if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x' && digit_value(at[2]) < 16) {
        base = 16;
        at += 2;
    } else if (end - at > 1 && at[0] == '0') {
        base = 8;
    }
    past = hew_conf_number_digits(at, end, base, &number->magnitude);
    return past == at ? NULL : past;
}
