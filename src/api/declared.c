/* SPDX-License-Identifier: MIT */
/*
 * declared: turns the text of the setting pools into slabs that stay.
 */
#include "api/boot.h"

#include "api/messages.h"
#include "base/text.h"
#include "control/settings/conf_pools.h"
#include "os/process.h"
#include "slab/arena.h"
#include "slab/reserve.h"

#define LINE_BYTES 160

/* <hew>: pools: 100 objects of 64 bytes: no memory for more than 50 */
static void
say(const struct hew_conf_pool *pool, const char *what, size_t number)
{
    char line[LINE_BYTES];
    struct hew_text text;
    hew_text_begin(&text, line, sizeof line);
    hew_text_put(&text, "<hew>: pools: ");
    hew_text_put_unsigned(&text, pool->count);
    hew_text_put(&text, " objects of ");
    hew_text_put_unsigned(&text, pool->size);
    hew_text_put(&text, " bytes: ");
    hew_text_put(&text, what);
    hew_text_put_unsigned(&text, number);
    hew_text_put(&text, "\n");
    hew_messages_hold(line, text.length);
}

/* Opens the class of exactly that size, so that the declaration applies to its own sizes only. */
static unsigned
opened_code(size_t size)
{
    unsigned code = hew_code_of_size(size);
    if (hew_code_is_fine(code)) {
        hew_size_class_open(code + 1);
    }
    return code;
}

static size_t
bytes_of(unsigned code, size_t count)
{
    const struct hew_slab_shape *shape = &hew_slab_shapes[code];
    return (count / shape->regions + 1) * shape->pages * HEW_PAGE;
}

HEW_COLD void
hew_declared_reserve(const char *setting)
{
    size_t machine = hew_os_machine_memory(), left = machine;
    struct hew_arena *first = hew_arena_get(0);
    struct hew_conf_pool pool;
    while (hew_conf_pools_next(&setting, &pool)) {
        unsigned code = opened_code(pool.size);
        size_t bytes = bytes_of(code, pool.count);
        if (bytes > left) {
            say(&pool, "not reserved; together with those before more than the machine's memory, ", machine);
            continue;
        }
        left -= bytes;
        size_t made = first == NULL ? 0 : hew_reserve_make(&first->pages, code, pool.count);
        if (made < pool.count) {
            say(&pool, "no memory for more than ", made);
        }
    }
}
