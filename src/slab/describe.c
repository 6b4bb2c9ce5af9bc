/* SPDX-License-Identifier: MIT */
/*
 * describe: the text about a bad address.  It runs only in a process that is about to end.  So it may search, but must
 * not wait: the holder of a lock may be the thread that failed.
 */
#include "slab/describe.h"

#include "base/text.h"
#include "os/fatal.h"
#include "slab/arena.h"

/* Returns the active extent that holds `address`, or NULL.  For an address inside a large extent, searches the pages
 * below. */
static struct hew_extent *
holder(uintptr_t address)
{
    struct hew_extent *extent = hew_map_extent(address);
    for (uintptr_t page = address, looks = 0; looks < 4096; looks++) {
        if (extent != NULL && extent->state != HEW_EXTENT_UNUSED && extent->address <= address &&
            address < hew_extent_end(extent)) {
            return extent;
        }
        if (page < HEW_PAGE) {
            break;
        }
        page -= HEW_PAGE;
        extent = hew_map_extent(page);
    }
    return NULL;
}

static void
put_object(struct hew_text *text, const char *what, size_t size, uintptr_t start)
{
    hew_text_put(text, what);
    hew_text_put_unsigned(text, size);
    hew_text_put(text, "-byte object at ");
    hew_text_put_hex(text, start);
}

static void
bad_in_slab(const char *function, uintptr_t address, struct hew_extent *slab)
{
    char words[160];
    struct hew_text text;
    hew_text_begin(&text, words, sizeof words);
    size_t size = hew_slab_shape(slab)->size;
    unsigned region = hew_slab_region(slab, address);
    uintptr_t start = slab->address + (uintptr_t)region * size;
    if (region >= hew_slab_shape(slab)->regions) {
        hew_misuse(HEW_FATAL_interior, function, address, "in the unused tail of a slab");
    } else if (address == start) {
        hew_describe_double_free(function, address);
    } else {
        put_object(&text, "inside the ", size, start);
        hew_misuse(HEW_FATAL_interior, function, address, words);
    }
}

HEW_COLD void
hew_describe_bad_pointer(const char *function, uintptr_t address)
{
    char words[160];
    struct hew_text text;
    hew_text_begin(&text, words, sizeof words);
    struct hew_extent *extent = holder(address);
    if (extent == NULL) {
        bool destroyed = atomic_load_explicit(&hew_arena_was_destroyed, memory_order_relaxed);
        hew_misuse(HEW_FATAL_foreign, function, address,
                   destroyed ? "an arena's that was destroyed, the stack, static data, or another allocator's"
                             : "the stack, static data, or another allocator's");
        return;
    }
    bool shelved = extent->code > HEW_CODE_SMALL_LAST && hew_map_code(extent->address) == HEW_CODE_NONE;
    if (extent->state == HEW_EXTENT_ACTIVE && shelved && address == extent->address) {
        hew_describe_free(function, address);
    } else if (extent->state != HEW_EXTENT_ACTIVE || shelved) {
        hew_misuse(HEW_FATAL_not_allocated, function, address, "these pages have been freed already");
    } else if (extent->code <= HEW_CODE_SMALL_LAST) {
        bad_in_slab(function, address, extent);
    } else if (address == extent->address) {
        hew_describe_double_free(function, address);
    } else {
        put_object(&text, "inside the ", extent->large.usable, extent->address);
        hew_misuse(HEW_FATAL_interior, function, address, words);
    }
}

static void
free_already(enum hew_fatal_kind kind, const char *function, uintptr_t address)
{
    char words[160];
    struct hew_text text;
    hew_text_begin(&text, words, sizeof words);
    struct hew_extent *extent = hew_map_extent(address);
    if (extent == NULL || extent->state != HEW_EXTENT_ACTIVE) {
        hew_text_put(&text, "the object"); /* of unknown size */
    } else if (extent->code <= HEW_CODE_SMALL_LAST) {
        put_object(&text, "the ", hew_slab_shape(extent)->size, address);
    } else {
        put_object(&text, "the ", extent->large.usable, address);
    }
    hew_text_put(&text, " is free already");
    hew_misuse(kind, function, address, words);
}

HEW_COLD void
hew_describe_double_free(const char *function, uintptr_t address)
{
    free_already(HEW_FATAL_double_free, function, address);
}

HEW_COLD void
hew_describe_free(const char *function, uintptr_t address)
{
    free_already(HEW_FATAL_not_allocated, function, address);
}

HEW_COLD _Noreturn void
hew_describe_and_end(const char *function, uintptr_t address)
{
    hew_describe_bad_pointer(function, address);
    hew_os_abort();
}

HEW_COLD _Noreturn void
hew_describe_twice_and_end(const char *function, uintptr_t address)
{
    hew_describe_double_free(function, address);
    hew_os_abort();
}

HEW_COLD _Noreturn void
hew_describe_free_and_end(const char *function, uintptr_t address)
{
    hew_describe_free(function, address);
    hew_os_abort();
}
