/* SPDX-License-Identifier: MIT */
/*
 * ctl_value: how values travel between a leaf and the caller of mallctl.
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
 * Promises  a wrong length is EINVAL.  A read of the wrong length still hands out the bytes that fit, and their number.
 */
#ifndef HEW_CONTROL_MALLCTL_CTL_VALUE_H
#define HEW_CONTROL_MALLCTL_CTL_VALUE_H

#include "control/mallctl/ctl.h"

/* Hands `value` to a caller who reads. */
int hew_ctl_read(const struct hew_ctl_call *call, const void *value, size_t size);

/* Takes `value` from a caller who writes; it stays as it was otherwise. */
int hew_ctl_write(const struct hew_ctl_call *call, void *value, size_t size);

/* Both: what was there goes out, what is to be comes in.  No error means that the caller may set it. */
int hew_ctl_exchange(const struct hew_ctl_call *call, const void *before, void *after, size_t size);

/* The same for a bool, of which any byte but 0 is true. */
int hew_ctl_exchange_bool(const struct hew_ctl_call *call, bool *value);

/* Whether a reader, if there is one, has room for the value: then reading it cannot fail.  For leaves whose writing can, so that they
 * write first: after an error other than a reader's wrong length the place is as it was. */
bool hew_ctl_fits(const struct hew_ctl_call *call, size_t size);

/* For leaves that make something and hand it out: nothing may be made unless the caller can take it.  *old_length is 0
 * after an error. */
int hew_ctl_must_read(const struct hew_ctl_call *call, size_t size);

/* For leaves that do nothing unless something is written. */
int hew_ctl_must_write(const struct hew_ctl_call *call, void *value, size_t size);

/* One value of a plain type, read only. */
int hew_ctl_read_bool(const struct hew_ctl_call *call, bool value);
int hew_ctl_read_unsigned(const struct hew_ctl_call *call, unsigned value);
int hew_ctl_read_uint64(const struct hew_ctl_call *call, uint64_t value);
int hew_ctl_read_pointer(const struct hew_ctl_call *call, const void *value);

/* `value` as the row's type says: a number of that width. */
int hew_ctl_read_number(const struct hew_ctl_call *call, uint64_t value);

/* Bytes of a value of that type; 0 for VOID, STRUCT and INDEX. */
size_t hew_ctl_type_size(enum hew_ctl_type type);

#endif
