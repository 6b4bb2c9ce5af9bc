/* SPDX-License-Identifier: MIT */
#include "control/settings/conf_classes.h"

#include "control/settings/conf_number.h"

_Static_assert(HEW_SMALL_MAX == 14336, "a line below names it");

#define POWERS_MOST 8192 /* the largest power of two that is a small size */

/* `before` is 0 for the first size. */
static const char *
fault_of(size_t before, size_t size)
{
    if (size == 0 || (size % HEW_QUANTUM != 0 && size != 8)) {
        return HEW_LG_QUANTUM == 4 ? "is no multiple of 16 (8 alone is a class beside these)" : "is no multiple of 8";
    }
    if (size > HEW_SMALL_MAX) {
        return "is more than 14336; what is larger has pages of its own";
    }
    return size <= before ? "is no more than the size before it" : NULL;
}

/* Parses one size; returns its end, NULL when there is none. */
static const char *
read_size(const char *at, const char *end, size_t *size)
{
    struct hew_conf_number number;
    at = hew_conf_number_read(at, end, &number);
    if (at == NULL || number.negative || (at != end && (*at != '|' || at + 1 == end))) {
        return NULL;
    }
    *size = number.magnitude;
    return at == end ? end : at + 1;
}

static struct hew_conf_fault
too_many(void)
{
    return (struct hew_conf_fault){
        .what = HEW_LG_QUANTUM == 4 ? "more than 63 classes, with the powers of two and the usual ones above the last"
                                    : "more than 66 classes, with the powers of two and the usual ones above the last"};
}

/* False: the maximum number of classes is reached. */
static bool
append(struct hew_conf_classes *classes, size_t size)
{
    if (classes->count == HEW_CODE_SMALL_LAST) {
        return false;
    }
    classes->sizes[classes->count++] = (uint16_t)size;
    return true;
}

/* Appends a named size, preceded by the powers of two between the previous size and it.  Each size and each alignment
 * then has a class less than twice the request. */
static bool
append_named(struct hew_conf_classes *classes, size_t size)
{
    size_t before = classes->count == 0 ? 0 : classes->sizes[classes->count - 1];
    for (size_t power = HEW_QUANTUM; power < size && power <= POWERS_MOST; power *= 2) {
        if (power > before && !append(classes, power)) {
            return false;
        }
    }
    return append(classes, size);
}

/* Appends the usual coarse classes above the last size. */
static bool
append_usual(struct hew_conf_classes *classes)
{
    size_t last = classes->sizes[classes->count - 1];
    for (unsigned code = 1; code <= HEW_CODE_SMALL_LAST; code++) {
        size_t size = hew_class_size(code - 1);
        if (size > last && !hew_usual_is_fine(code) && !append(classes, size)) {
            return false;
        }
    }
    return true;
}

struct hew_conf_fault
hew_conf_classes_read(const char *value, size_t length, struct hew_conf_classes *classes)
{
    const char *end = value + length;
    size_t before = 0, size;
    classes->count = 0;
    for (const char *at = value; at < end; before = size) {
        at = read_size(at, end, &size);
        if (at == NULL) {
            return (struct hew_conf_fault){.what = "it is not SIZE, or several joined by |, in whole numbers"};
        }
        const char *what = fault_of(before, size);
        if (what != NULL) {
            return (struct hew_conf_fault){what, true, size};
        }
        if (!append_named(classes, size)) {
            return too_many();
        }
    }
    bool complete = classes->count == 0 || append_usual(classes);
    return complete ? (struct hew_conf_fault){.what = NULL} : too_many();
}
