/* SPDX-License-Identifier: MIT */
/*
 * conf_classes: the value of the setting classes: SIZE|SIZE|..., ascending.
 *
 * Promises  what has no fault reads as 1 to HEW_CODE_SMALL_LAST sizes: the first is 8 or 16, the others are multiples of the
 *           quantum, each larger than the one before; all powers of two from 16 to 8192 are among them, named or not; the last is
 *           HEW_SMALL_MAX.
 * Not here  putting them in force: base/size_class.c, at boot.
 */
#ifndef HEW_CONTROL_SETTINGS_CONF_CLASSES_H
#define HEW_CONTROL_SETTINGS_CONF_CLASSES_H

#include "base/size_class.h"

struct hew_conf_classes {
    unsigned count;
    uint16_t sizes[HEW_CODE_SMALL_LAST];
};

/* What is wrong with a value, for people, after the size that it is about, if any.  `what` NULL: nothing. */
struct hew_conf_fault {
    const char *what;
    bool of_size;
    size_t size;
};

/* Reads value[0 .. length) into *classes, which is only of use without a fault.  Above the last size that it names the usual coarse
 * classes follow.  An empty value names none: count is 0. */
struct hew_conf_fault hew_conf_classes_read(const char *value, size_t length, struct hew_conf_classes *classes);

#endif
