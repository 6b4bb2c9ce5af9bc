/* SPDX-License-Identifier: MIT */
/*
 * ctl_fuzz: mallctl under any name, MIB, length and combination of pointers.
 *
 * Holds that no call crashes, that nothing beyond the given length is written, that what the caller gave to be read
 * stays as it was, and that a call which fails has changed none of what can be set.  A pointer inside a value is NULL or
 * leads to something of its kind; where mallctl only wants to know whose an address is, it is anything.
 */
#include "alloc/flags.h"
#include "control/mallctl/ctl.h"
#include "control/mallctl/ctl_tree.h"
#include "control/mallctl/ctl_value.h"
#include "ctl_calls.h"
#include "fuzz/replay.h"
#include "layers_alloc.h"
#include "page/hooks.h"

#include <stdio.h>
#include <stdlib.h>

#define BUFFER_BYTES 512
#define OBJECTS 64
#define VALUES_MAX 64

static void
require(bool holds, const char *what, const char *name)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", name, what);
        abort();
    }
}

/* The input is read as a sequence of small numbers; 0 when it has ended. */
struct input {
    const uint8_t *at, *end;
};

static unsigned
number(struct input *input, unsigned below)
{
    unsigned high = input->at < input->end ? *input->at++ : 0, low = input->at < input->end ? *input->at++ : 0;
    return (high << 8 | low) % below;
}

/* All names that can be both read and written, and their values: what a call that fails must leave alone. */
struct state {
    uint64_t values[VALUES_MAX];
};

static bool
is_setting(const struct hew_ctl_row *row)
{
    return row->access == HEW_CTL_BOTH && hew_ctl_type_size(row->type) != 0 && strstr(row->name, "create") == NULL &&
           strstr(row->name, ".name") == NULL;
}

static void
read_state(struct state *state)
{
    unsigned count = 0;
    memset(state, 0, sizeof *state);
    for (const struct hew_ctl_row *row = hew_ctl_rows; row->name[0] != '\0'; row++) {
        if (is_setting(row)) {
            char name[HEW_CTL_NAME_MAX];
            ctl_concrete(row, "0", name);
            require(count < VALUES_MAX, "more settings than VALUES_MAX", name);
            ctl_read(name, &state->values[count++], hew_ctl_type_size(row->type));
        }
    }
}

struct attempt {
    char name[HEW_CTL_NAME_MAX * 2];
    const char *target; /* the row that it leads to; "" for none */
    bool by_mib;
    int mib_result;
    size_t mib[HEW_CTL_DEPTH_MAX + 2], depth;
    _Alignas(16) unsigned char old[BUFFER_BYTES + 16], new[BUFFER_BYTES], new_copy[BUFFER_BYTES];
    size_t old_length, new_length;
    bool reads, has_length, writes;
    void *objects[OBJECTS], *batch[OBJECTS];
    char text[32], place[64];
};

static const struct hew_ctl_row *
any_row(struct input *input)
{
    unsigned count = 0;
    while (hew_ctl_rows[count].name[0] != '\0') {
        count++;
    }
    return &hew_ctl_rows[number(input, count)];
}

static void
choose_name(struct input *input, struct attempt *attempt)
{
    static const char *const indices[] = {"0",
                                          "0",
                                          "0",
                                          "1",
                                          "2",
                                          "3",
                                          "9",
                                          "35",
                                          "36",
                                          "64",
                                          "195",
                                          "198",
                                          "4095",
                                          "4096",
                                          "4097",
                                          "4098",
                                          "",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "-1",
                                          "x"};
    ctl_concrete(any_row(input), indices[number(input, sizeof indices / sizeof *indices)], attempt->name);
    size_t length = strlen(attempt->name);
    for (unsigned hits = number(input, 8) == 0 ? 1 + number(input, 3) : 0; hits > 0; hits--) {
        attempt->name[number(input, (unsigned)length)] = (char)number(input, 256);
    }
}

/* The MIB of the name, sometimes of a part of it, sometimes with another part in it. */
static void
choose_mib(struct input *input, struct attempt *attempt)
{
    size_t room = attempt->depth = number(input, 4) == 0 ? number(input, HEW_CTL_DEPTH_MAX + 1) : HEW_CTL_DEPTH_MAX;
    attempt->mib_result = hew_ctl_to_mib(attempt->name, attempt->mib, &attempt->depth);
    require(attempt->depth <= room, "a MIB longer than its place", attempt->name);
    require(attempt->mib_result == 0 || attempt->depth == room, "a length changed by an error", attempt->name);
    if (number(input, 4) == 0) {
        static const size_t parts[] = {0, 1, 2, 3, 7, 36, 4096, 4097, SIZE_MAX, SIZE_MAX / 2, 1 << 16};
        attempt->mib[number(input, HEW_CTL_DEPTH_MAX)] = parts[number(input, sizeof parts / sizeof *parts)];
        attempt->depth = number(input, HEW_CTL_DEPTH_MAX + 2);
        attempt->mib_result = 0;
    }
}

static void
find_target(struct attempt *attempt)
{
    const struct hew_ctl_node *node = hew_ctl_tree_root();
    size_t depth = attempt->depth;
    const char *name = attempt->name;
    for (size_t part = 0; node != NULL && (attempt->by_mib ? part < depth : name != NULL); part++) {
        size_t place = attempt->mib[part], length = strcspn(name, ".");
        if (!attempt->by_mib) {
            bool found = hew_ctl_tree_place(node, name, length, &place);
            name = name[length] == '\0' ? NULL : name + length + 1;
            node = found ? node : NULL;
        }
        node = node == NULL ? NULL : hew_ctl_tree_child(node, place);
    }
    const struct hew_ctl_row *row = node == NULL ? NULL : hew_ctl_tree_row(node);
    attempt->target = row == NULL ? "" : row->name;
}

static size_t
any_length(struct input *input, size_t right)
{
    static const size_t lengths[] = {0, 1, 2, 4, 7, 8, 12, 16, 24, 32, 48, 64, 72, BUFFER_BYTES};
    return number(input, 2) == 0 ? right : lengths[number(input, sizeof lengths / sizeof *lengths)];
}

/* Something of the kind that the name wants: small numbers, texts, structs, addresses. */
static void
choose_value(struct input *input, struct attempt *attempt)
{
    static const char *const texts[] = {"", "primary", "disabled", "x", "8-64:3|100-200:9", "5-1:2"};
    static const int64_t numbers[] = {0, 1, 2, 3, -1, -2, 4096, 65536, 1 << 20, INT64_MAX, INT64_MIN, 0xffffffff};
    memset(attempt->new, 0, sizeof attempt->new);
    uint64_t value = (uint64_t)numbers[number(input, sizeof numbers / sizeof *numbers)];
    if (strstr(attempt->target, "batch_alloc") != NULL) {
        struct hew_batch batch = {number(input, 4) == 0 ? NULL : attempt->batch, number(input, OBJECTS + 1),
                                  number(input, 3) == 0 ? (size_t)value : number(input, 5000), (int)number(input, 7)};
        memcpy(attempt->new, &batch, sizeof batch);
        return;
    }
    if (strstr(attempt->target, "utilization") != NULL || strstr(attempt->target, "lookup") != NULL) {
        for (unsigned i = 0; i < BUFFER_BYTES / 8; i++) {
            uintptr_t address = i % 3 == 0 ? (uintptr_t)attempt->objects[i % OBJECTS] : value * i;
            memcpy(attempt->new + i * 8, &address, sizeof address);
        }
        return;
    }
    bool is_text = strstr(attempt->target, "dss") != NULL || strstr(attempt->target, "name") != NULL ||
                   strstr(attempt->target, "write") != NULL || strstr(attempt->target, "prof.") != NULL;
    bool is_hooks = strstr(attempt->target, "extent_hooks") != NULL || strstr(attempt->target, "arenas") != NULL;
    bool is_pointer = is_hooks || strstr(attempt->target, "hooks") != NULL || strstr(attempt->target, "create") != NULL;
    static struct hew_extent_hooks own, without; /* an arena may keep them */
    struct hew_extent_hooks *const tables[] = {NULL, &without, &own};
    own = hew_hooks_default;
    strcpy(attempt->text, texts[number(input, sizeof texts / sizeof *texts)]);
    uintptr_t text = number(input, 4) == 0 ? 0 : (uintptr_t)attempt->text;
    uintptr_t hooks = is_hooks ? (uintptr_t)tables[number(input, 3)] : 0;
    value = is_text ? text : is_pointer ? hooks : value;
    memcpy(attempt->new, &value, sizeof value);
}

static void
choose(struct input *input, struct attempt *attempt)
{
    memset(attempt, 0, sizeof *attempt);
    choose_name(input, attempt);
    attempt->by_mib = number(input, 2) == 0;
    if (attempt->by_mib) {
        choose_mib(input, attempt);
    }
    find_target(attempt);
    for (unsigned i = 0; i < OBJECTS; i++) {
        attempt->objects[i] = i % 4 == 0 ? layers_malloc(1 + number(input, 200) * number(input, 200)) : NULL;
    }
    choose_value(input, attempt);
    memcpy(attempt->new_copy, attempt->new, BUFFER_BYTES);
    unsigned which = number(input, 8);
    attempt->reads = (which & 1) != 0;
    attempt->has_length = (which & 2) != 0 || number(input, 4) != 0;
    attempt->writes = (which & 4) != 0;
    attempt->old_length = any_length(input, 8);
    attempt->new_length = number(input, 8) == 0 ? any_length(input, 0) : attempt->writes ? any_length(input, 8) : 0;
    memset(attempt->old, 0xee, sizeof attempt->old);
    char *place = number(input, 2) == 0 ? NULL : attempt->place;
    if (strstr(attempt->target, ".name") != NULL) { /* what is read is written where the old value points */
        memcpy(attempt->old, &place, sizeof place);
    }
}

static int
call(struct attempt *attempt)
{
    void *old = attempt->reads ? attempt->old : NULL, *new = attempt->writes ? attempt->new : NULL;
    size_t *length = attempt->has_length ? &attempt->old_length : NULL;
    if (!attempt->by_mib) {
        return hew_ctl_by_name(attempt->name, old, length, new, attempt->new_length);
    }
    struct hew_ctl_call by_mib = {attempt->mib, attempt->depth, old, length, new, attempt->new_length, NULL};
    return attempt->mib_result != 0 ? attempt->mib_result : hew_ctl_by_mib(&by_mib);
}

/* What a call that worked has made must go again, or the next ten thousand find no room. */
static void
undo(const struct attempt *attempt)
{
    unsigned made;
    char name[64];
    memcpy(&made, attempt->old, sizeof made);
    if (strcmp(attempt->target, "tcache.create") == 0) {
        ctl_write("tcache.destroy", &made, sizeof made);
    } else if (strstr(attempt->target, "arenas") != NULL && strstr(attempt->target, "create") != NULL) {
        snprintf(name, sizeof name, "arena.%u.destroy", made);
        require(ctl_do(name) == 0, "a new arena cannot be destroyed", name);
    } else if (strcmp(attempt->target, "experimental.batch_alloc") == 0) {
        size_t count;
        struct hew_batch batch;
        memcpy(&count, attempt->old, sizeof count);
        memcpy(&batch, attempt->new, sizeof batch);
        require(count <= batch.count, "more objects than asked for", attempt->name);
        while (count > 0) {
            layers_free(attempt->batch[--count]);
        }
    }
}

static void
boot_once(void)
{
    if (hew_small_end == 0) {
        require(layers_boot(), "boot", "");
        hew_options.narenas = 4;
        require(hew_alloc_own_cache() != NULL, "a cache", "");
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct attempt attempt;
    struct input input = {data, data + size};
    struct state before, after;
    boot_once();
    choose(&input, &attempt);
    size_t given = attempt.old_length;
    read_state(&before);
    int result = call(&attempt);
    read_state(&after);
    bool known = result == ENOENT || result == EINVAL || result == EPERM || result == EFAULT || result == EAGAIN;
    require(result == 0 || known, "an error that mallctl does not have", attempt.name);
    bool same = memcmp(&before, &after, sizeof before) == 0;
    require(result == 0 || same, "a failed call changed something", attempt.name);
    require(memcmp(attempt.new, attempt.new_copy, BUFFER_BYTES) == 0, "the new value was written to", attempt.name);
    require(attempt.old_length <= given, "a length that grew", attempt.name);
    for (size_t at = given < 8 ? 8 : given; at < sizeof attempt.old; at++) {
        require(attempt.old[at] == 0xee, "a byte behind the buffer was written", attempt.name);
    }
    if (result == 0 && attempt.reads && attempt.has_length) {
        undo(&attempt);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (attempt.objects[i] != NULL) {
            layers_free(attempt.objects[i]);
        }
    }
    return 0;
}

size_t
fuzz_make_input(uint64_t *random, uint8_t *data, size_t capacity)
{
    size_t size = capacity < 256 ? capacity : 256;
    for (size_t at = 0; at < size; at++) {
        data[at] = (uint8_t)fuzz_random(random);
    }
    return size;
}
