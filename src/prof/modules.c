/* SPDX-License-Identifier: MIT */
#include "prof/modules.h"

#include "base/text.h"
#include "prof/image.h"

#include <stdatomic.h>
#include <string.h>

#define MODULES_MOST 256
#define PATH_BYTES 256 /* longer paths are left out; the build id remains */

struct module {
    _Atomic bool ready; /* the other fields are written and never change again */
    uintptr_t object;   /* start address of the library */
    const uint8_t *unwind_index;
    struct hew_image_code code;
    unsigned build_id_bytes;
    uint8_t build_id[HEW_BUILD_ID];
    char path[PATH_BYTES];
};

static struct module modules[MODULES_MOST];
static _Atomic unsigned claimed;

static bool
is_ready(unsigned number)
{
    /* acquire: pairs with the release in hew_modules_note() */
    return atomic_load_explicit(&modules[number].ready, memory_order_acquire);
}

static unsigned
count_claimed(void)
{
    unsigned count = atomic_load_explicit(&claimed, memory_order_relaxed);
    return count < MODULES_MOST ? count : MODULES_MOST;
}

/* A library may be loaded again at its old address: it is recorded once. */
static bool
is_noted(const struct hew_os_object *object)
{
    for (unsigned i = count_claimed(); i-- > 0;) {
        if (is_ready(i) && modules[i].object == object->begin && modules[i].unwind_index == object->unwind_index) {
            return strncmp(modules[i].path, object->path, PATH_BYTES - 1) == 0; /* if several were here, the last */
        }
    }
    return false;
}

void
hew_modules_note(const struct hew_os_object *object)
{
    struct hew_image_code code;
    if (object->path == NULL || object->path[0] == '\0' || is_noted(object) || !hew_image_code(object->begin, &code)) {
        return;
    }
    unsigned number = atomic_load_explicit(&claimed, memory_order_relaxed);
    do {
        if (number >= MODULES_MOST) {
            return;
        }
    } while (!atomic_compare_exchange_weak_explicit(&claimed, &number, number + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    struct module *module = &modules[number];
    struct hew_text path;
    module->object = object->begin;
    module->unwind_index = object->unwind_index;
    module->code = code;
    module->build_id_bytes = hew_image_build_id(object->begin, module->build_id, HEW_BUILD_ID);
    hew_text_begin(&path, module->path, sizeof module->path);
    hew_text_put(&path, object->path);
    /* release: a thread that sees `ready` sees the other fields */
    atomic_store_explicit(&module->ready, true, memory_order_release);
}

static bool
has_successor(unsigned number, unsigned count)
{
    for (unsigned i = number + 1; i < count; i++) {
        if (is_ready(i) && modules[i].code.begin < modules[number].code.end &&
            modules[number].code.begin < modules[i].code.end) {
            return true;
        }
    }
    return false;
}

bool
hew_modules_next(uintptr_t from, uintptr_t limit, struct hew_mapping *mapping)
{
    const struct module *lowest = NULL;
    unsigned count = count_claimed();
    for (unsigned i = 0; i < count; i++) {
        const struct module *module = &modules[i];
        if (is_ready(i) && module->code.begin >= from && module->code.end <= limit &&
            (lowest == NULL || module->code.begin < lowest->code.begin) && !has_successor(i, count)) {
            lowest = module;
        }
    }
    if (lowest == NULL) {
        return false;
    }
    mapping->begin = lowest->code.begin;
    mapping->end = lowest->code.end;
    mapping->offset = lowest->code.offset;
    mapping->closed = true;
    mapping->build_id_bytes = lowest->build_id_bytes;
    memcpy(mapping->build_id, lowest->build_id, sizeof mapping->build_id);
    memcpy(mapping->path, lowest->path, sizeof lowest->path);
    return true;
}
