/* SPDX-License-Identifier: MIT */
/* ctl_value: see ctl_value.h. */
#include "control/mallctl/ctl_value.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

int
hew_ctl_read(const struct hew_ctl_call *call, const void *value, size_t size)
{
    if (call->old == NULL) {
        return 0;
    }
    size_t length = *call->old_length < size ? *call->old_length : size;
    int error = *call->old_length == size ? 0 : EINVAL;
    memcpy(call->old, value, length);
    *call->old_length = length;
    return error;
}

int
hew_ctl_write(const struct hew_ctl_call *call, void *value, size_t size)
{
    if (call->new == NULL) {
        return 0;
    }
    if (call->new_length != size) {
        return EINVAL;
    }
    memcpy(value, call->new, size);
    return 0;
}

int
hew_ctl_exchange(const struct hew_ctl_call *call, const void *before, void *after, size_t size)
{
    /* Write first: the caller may use one buffer for both. */
    int error = hew_ctl_write(call, after, size);
    return error != 0 ? error : hew_ctl_read(call, before, size);
}

int
hew_ctl_exchange_bool(const struct hew_ctl_call *call, bool *value)
{
    unsigned char before = *value, after = before;
    int error = hew_ctl_exchange(call, &before, &after, sizeof after);
    *value = after != 0;
    return error;
}

bool
hew_ctl_fits(const struct hew_ctl_call *call, size_t size)
{
    return call->old == NULL || *call->old_length == size;
}

int
hew_ctl_must_read(const struct hew_ctl_call *call, size_t size)
{
    if (call->old != NULL && *call->old_length == size) {
        return 0;
    }
    if (call->old_length != NULL) {
        *call->old_length = 0;
    }
    return EINVAL;
}

int
hew_ctl_must_write(const struct hew_ctl_call *call, void *value, size_t size)
{
    return call->new == NULL ? EINVAL : hew_ctl_write(call, value, size);
}

int
hew_ctl_read_bool(const struct hew_ctl_call *call, bool value)
{
    return hew_ctl_read(call, &value, sizeof value);
}

int
hew_ctl_read_unsigned(const struct hew_ctl_call *call, unsigned value)
{
    return hew_ctl_read(call, &value, sizeof value);
}

int
hew_ctl_read_uint64(const struct hew_ctl_call *call, uint64_t value)
{
    return hew_ctl_read(call, &value, sizeof value);
}

int
hew_ctl_read_pointer(const struct hew_ctl_call *call, const void *value)
{
    return hew_ctl_read(call, &value, sizeof value);
}

size_t
hew_ctl_type_size(enum hew_ctl_type type)
{
    switch (type) {
    case HEW_CTL_BOOL:
        return sizeof(bool);
    case HEW_CTL_UNSIGNED:
    case HEW_CTL_U32:
        return sizeof(uint32_t);
    case HEW_CTL_U64:
    case HEW_CTL_I64:
    case HEW_CTL_SIZE:
    case HEW_CTL_SSIZE:
    case HEW_CTL_TEXT:
    case HEW_CTL_POINTER:
        return sizeof(uint64_t);
    default:
        return 0;
    }
}

_Static_assert(sizeof(size_t) == sizeof(uint64_t) && sizeof(ssize_t) == sizeof(uint64_t) &&
                   sizeof(void *) == sizeof(uint64_t) && sizeof(unsigned) == sizeof(uint32_t),
               "hew_ctl_read_number() knows three widths");

int
hew_ctl_read_number(const struct hew_ctl_call *call, uint64_t value)
{
    size_t size = hew_ctl_type_size(call->row->type);
    if (size == sizeof(bool)) {
        return hew_ctl_read_bool(call, value != 0);
    }
    return size == sizeof(unsigned) ? hew_ctl_read_unsigned(call, (unsigned)value) : hew_ctl_read_uint64(call, value);
}
