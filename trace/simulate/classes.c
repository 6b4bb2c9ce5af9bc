/* SPDX-License-Identifier: MIT */
/* classes: see classes.h.  hew's sizes and slabs are the library's own tables. */
#include "simulate/classes.h"

#include "base/size_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    struct policy_classes classes;
    uint64_t sizes[CLASSES_MAX];
    uint64_t slabs[CLASSES_MAX];
    char name[64];
};

static uint64_t
four_a_doubling(uint64_t size)
{
    return hew_class_round_large(size);
}

static struct table *
make(const char *name, const char *about, uint64_t (*large)(uint64_t size))
{
    struct table *table = calloc(1, sizeof(*table));

    if (table != NULL) {
        snprintf(table->name, sizeof(table->name), "%s", name);
        table->classes = (struct policy_classes){
            .name = table->name, .about = about, .sizes = table->sizes, .slabs = table->slabs, .large = large};
    }
    return table;
}

static void
add(struct table *table, uint64_t size, uint64_t slab)
{
    table->sizes[table->classes.count] = size;
    table->slabs[table->classes.count++] = slab;
}

struct policy_classes *
classes_hew(bool fine)
{
    struct table *table = fine ? make("hew-fine", "hew's classes, those between two open as well", four_a_doubling)
                               : make("hew", "hew's classes, four for each doubling", four_a_doubling);

    hew_size_class_boot();
    for (unsigned code = 1; table != NULL && code <= HEW_CODE_SMALL_LAST; code++) {
        if (fine || !hew_code_is_fine(code)) {
            add(table, hew_slab_shapes[code].size, hew_slab_shapes[code].pages * POLICY_PAGE);
        }
    }
    return table != NULL ? &table->classes : NULL;
}

/* The smallest slab without a tail: the least common multiple of class and page. */
static uint64_t
common_multiple(uint64_t size)
{
    uint64_t one = size, other = POLICY_PAGE;

    while (other != 0) {
        uint64_t rest = one % other;
        one = other;
        other = rest;
    }
    return size / one * POLICY_PAGE;
}

struct policy_classes *
classes_jemalloc(void)
{
    struct table *table = make("jemalloc", "jemalloc's classes and slabs", four_a_doubling);

    for (uint64_t size = 8; table != NULL && size <= CLASSES_SIZE_MAX;) {
        add(table, size, common_multiple(size));
        size = size < 16 ? 16 : size < 128 ? size + 16 : size + (UINT64_C(1) << (61 - __builtin_clzll(size)));
    }
    return table != NULL ? &table->classes : NULL;
}

/* The smallest slab of whole pages that holds eight objects and wastes at most an eighth. */
static uint64_t
textbook_slab(uint64_t size)
{
    uint64_t slab = POLICY_PAGE;

    while (slab / size < 8 || slab % size > slab / 8) {
        slab += POLICY_PAGE;
    }
    return slab;
}

struct policy_classes *
classes_slab(void)
{
    struct table *table = make("slab", "slabs for each multiple of 16 bytes, as if each were a type of object", NULL);

    for (uint64_t size = 16; table != NULL && size <= CLASSES_SIZE_MAX; size += 16) {
        add(table, size, textbook_slab(size));
    }
    return table != NULL ? &table->classes : NULL;
}

struct policy_classes *
classes_powers(void)
{
    struct table *table = make("powers", "segregated by powers of two", NULL);

    for (uint64_t size = 16; table != NULL && size <= CLASSES_SIZE_MAX; size *= 2) {
        add(table, size, textbook_slab(size));
    }
    return table != NULL ? &table->classes : NULL;
}

/* The slab that hew uses: whole 16 KiB, at most a fortieth wasted, capacity for a batch. */
static uint64_t
hew_slab(uint64_t size)
{
    uint64_t slab = HEW_GRAIN;

    while (slab / size < (size <= 2048 ? 16 : 8) || slab % size > slab / 40) {
        slab += HEW_GRAIN;
    }
    return slab;
}

struct policy_classes *
classes_candidates(void)
{
    struct table *table = make("candidates", "every size that a class may have", four_a_doubling);

    for (uint64_t size = 8; table != NULL && size <= CLASSES_SIZE_MAX; size += size < 16 ? 8 : 16) {
        add(table, size, hew_slab(size));
    }
    return table != NULL ? &table->classes : NULL;
}

/* Whether the name ends there and is valid: it is written to the document unescaped. */
static bool
is_name(const char *text, const char *end)
{
    if (end == NULL || end == text || end - text >= 40) {
        return false;
    }
    for (; text < end; text++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *text) == NULL) {
            return false;
        }
    }
    return true;
}

struct policy_classes *
classes_of_text(const char *text, char *why, size_t size)
{
    const char *at = strchr(text, '=');
    struct table *table = is_name(text, at) ? make("", "classes of your own", four_a_doubling) : NULL;
    uint64_t before = 0;

    if (table == NULL) {
        snprintf(why, size, "%.40s: write NAME=SIZE,SIZE,..., NAME of letters, digits, - and _", text);
        return NULL;
    }
    snprintf(table->name, sizeof(table->name), "%.*s", (int)(at - text), text);
    do {
        char *end;
        unsigned long long one = strtoull(at + 1, &end, 10);
        if (end == at + 1 || (*end != ',' && *end != '\0') || one % 8 != 0 || one <= before || one > CLASSES_SIZE_MAX ||
            table->classes.count == CLASSES_MAX) {
            snprintf(why, size, "%s: %.20s: a class is a multiple of 8 up to 14336, each larger than the one before",
                     table->name, at + 1);
            free(table);
            return NULL;
        }
        add(table, one, hew_slab(one));
        before = one;
        at = end;
    } while (*at == ',');
    return &table->classes;
}

void
classes_end(struct policy_classes *classes)
{
    free(classes); /* the table's first member */
}
