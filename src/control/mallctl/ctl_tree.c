/* SPDX-License-Identifier: MIT */
/* ctl_tree: see ctl_tree.h. */
#include "control/mallctl/ctl_tree.h"

#include "control/mallctl/ctl_names_macros.h"

#include <string.h>

const struct hew_ctl_row hew_ctl_rows[] = {
#define HEW_CTL(name, type, access, leaf, field) {name, field, HEW_CTL_##type, HEW_CTL_##access, HEW_LEAF_##leaf},
#include "control/mallctl/ctl_names.def"
    {.name = ""},
};

#define ROWS (sizeof hew_ctl_rows / sizeof hew_ctl_rows[0] - 1)
/* Rows and the prefixes between them; ctl_tree_test.c checks that the number suffices. */
#define NODES_MAX (ROWS + 128)

struct hew_mutex hew_ctl_lock = HEW_MUTEX(ctl);
static struct hew_ctl_node nodes[NODES_MAX]; /* [0] is the root; written under hew_ctl_lock before `made` */
static size_t node_count;                    /* guarded by hew_ctl_lock */
static _Atomic bool made;                    /* release when the tree is complete, acquire by readers */

static const char *
part_of(const struct hew_ctl_node *node)
{
    return hew_ctl_rows[node->row].name + node->begin;
}

static bool
same_part(const struct hew_ctl_node *node, const char *part, size_t length)
{
    return node->length == length && memcmp(part_of(node), part, length) == 0;
}

/* Whether the row's name begins with the complete name of the node. */
static bool
is_under(const struct hew_ctl_node *node, size_t row)
{
    size_t length = (size_t)node->begin + node->length;
    const char *name = hew_ctl_rows[row].name;
    return row < ROWS && memcmp(name, hew_ctl_rows[node->row].name, length) == 0 &&
           (length == 0 || name[length] == '.' || name[length] == '\0');
}

/* Appends a node's children: the parts that follow its name, in row order. */
static void
add_children(struct hew_ctl_node *node)
{
    size_t name_end = (size_t)node->begin + node->length, begin = name_end == 0 ? 0 : name_end + 1;
    node->first = (uint16_t)node_count;
    for (size_t row = node->row; is_under(node, row); row++) {
        const char *name = hew_ctl_rows[row].name;
        if (name_end != 0 && name[name_end] == '\0') {
            continue; /* the node's own row */
        }
        size_t length = strcspn(name + begin, ".");
        if (node->count == 0 || !same_part(&nodes[node_count - 1], name + begin, length)) {
            HEW_ASSERT(0, node_count < NODES_MAX);
            nodes[node_count++] = (struct hew_ctl_node){0, 0, (uint16_t)row, (uint8_t)begin, (uint8_t)length};
            node->count++;
        }
    }
}

HEW_COLD static void
make(void)
{
    hew_mutex_lock(&hew_ctl_lock);
    if (!atomic_load_explicit(&made, memory_order_relaxed)) {
        node_count = 1;
        for (size_t next = 0; next < node_count; next++) {
            add_children(&nodes[next]);
        }
        atomic_store_explicit(&made, true, memory_order_release);
    }
    hew_mutex_unlock(&hew_ctl_lock);
}

const struct hew_ctl_node *
hew_ctl_tree_root(void)
{
    if (HEW_UNLIKELY(!atomic_load_explicit(&made, memory_order_acquire))) {
        make();
    }
    return &nodes[0];
}

const struct hew_ctl_row *
hew_ctl_tree_row(const struct hew_ctl_node *node)
{
    const struct hew_ctl_row *row = &hew_ctl_rows[node->row];
    return node->length != 0 && row->name[node->begin + node->length] == '\0' ? row : NULL;
}

static bool
has_index(const struct hew_ctl_node *node)
{
    return node->count == 1 && part_of(&nodes[node->first])[0] == '<';
}

const struct hew_ctl_node *
hew_ctl_tree_child(const struct hew_ctl_node *node, size_t place)
{
    if (place < node->count) {
        return &nodes[node->first + place];
    }
    return has_index(node) ? &nodes[node->first] : NULL;
}

/* Decimal digits only, within the range of size_t. */
static bool
read_index(const char *part, size_t length, size_t *index)
{
    *index = 0;
    for (size_t at = 0; at < length; at++) {
        unsigned digit = (unsigned)part[at] - '0';
        if (digit > 9 || __builtin_mul_overflow(*index, 10, index) || __builtin_add_overflow(*index, digit, index)) {
            return false;
        }
    }
    return length != 0;
}

bool
hew_ctl_tree_place(const struct hew_ctl_node *node, const char *part, size_t length, size_t *place)
{
    if (has_index(node)) {
        return read_index(part, length, place);
    }
    for (*place = 0; *place < node->count; ++*place) {
        if (same_part(&nodes[node->first + *place], part, length)) {
            return true;
        }
    }
    return false;
}
