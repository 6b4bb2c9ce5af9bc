/* SPDX-License-Identifier: MIT */
/*
 * ctl_value: copies values between a leaf and the caller of mallctl.
 *
 *     int
 *     hew_ctl_thing(const struct hew_ctl_call *call)
 *     {
 *         bool before = thing, after = before;
 *         int error = hew_ctl_exchange(call, &before, &after, sizeof before);
 *         if (error == 0 && call->new != NULL) {
 *             thing = after;
 *         }
 *         return error;
 *     }
 *
 * Promises  a wrong length is EINVAL.  A read of the wrong length still copies what fits, and returns the byte count.
 */
#ifndef HEW_CONTROL_MALLCTL_CTL_VALUE_H
#define HEW_CONTROL_MALLCTL_CTL_VALUE_H

#include "control/mallctl/ctl.h"

/* Copies `value` to a caller that reads. */
int hew_ctl_read(const struct hew_ctl_call *call, const void *value, size_t size);

/* Copies `value` from a caller that writes; otherwise it is unchanged. */
int hew_ctl_write(const struct hew_ctl_call *call, void *value, size_t size);

/* Does both: copies `before` out and `after` in.  After success the leaf may apply `after`. */
int hew_ctl_exchange(const struct hew_ctl_call *call, const void *before, void *after, size_t size);

/* For a bool: any byte but 0 is true. */
int hew_ctl_exchange_bool(const struct hew_ctl_call *call, bool *value);

/* Whether the caller's buffer fits the value, if the caller reads: then the read cannot fail.  For leaves whose write
 * can fail: they write first, so after any error but a wrong read length the buffer is unchanged. */
bool hew_ctl_fits(const struct hew_ctl_call *call, size_t size);

/* For leaves that create something and return it: they must not create it unless the caller can receive it.
 * *old_length is 0 after an error. */
int hew_ctl_must_read(const struct hew_ctl_call *call, size_t size);

/* For leaves that do nothing without a write. */
int hew_ctl_must_write(const struct hew_ctl_call *call, void *value, size_t size);

/* One value of a plain type, read-only. */
int hew_ctl_read_bool(const struct hew_ctl_call *call, bool value);
int hew_ctl_read_unsigned(const struct hew_ctl_call *call, unsigned value);
int hew_ctl_read_uint64(const struct hew_ctl_call *call, uint64_t value);
int hew_ctl_read_pointer(const struct hew_ctl_call *call, const void *value);

/* A number in the width of the row's type. */
int hew_ctl_read_number(const struct hew_ctl_call *call, uint64_t value);

/* Size in bytes of a value of that type; 0 for VOID, STRUCT and INDEX. */
size_t hew_ctl_type_size(enum hew_ctl_type type);

#endif
