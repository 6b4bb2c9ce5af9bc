/* SPDX-License-Identifier: MIT */
/*
 * conf_classes: the value of the setting classes: SIZE|SIZE|..., ascending.
 *
 * Promises  a valid value yields 1 to HEW_CODE_SMALL_LAST sizes.  The first is 8 or 16; the others are multiples of the
 *           quantum, in ascending order.  All powers of two from 16 to 8192 are included, named or not; the last is
 *           HEW_SMALL_MAX.
 * Not here  applying them: base/size_class.c, at boot.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_CLASSES_H
#define HEW_CONTROL_SETTINGS_CONF_CLASSES_H

#include "base/size_class.h"

struct hew_conf_classes {
    unsigned count;
    uint16_t sizes[HEW_CODE_SMALL_LAST];
};

/* The error in a value, for people, followed by the size it is about, if any.  `what` NULL: no error. */
struct hew_conf_fault {
    const char *what;
    bool of_size;
    size_t size;
};

/* Parses value[0 .. length) into *classes, which is valid only if there is no error.  Above the last named size the
 * usual coarse classes follow.  An empty value yields count 0. */
struct hew_conf_fault hew_conf_classes_read(const char *value, size_t length, struct hew_conf_classes *classes);

#endif
