/* SPDX-License-Identifier: MIT */
/*
 * list: an intrusive, circular, doubly linked list with a head node.  The owner of the list guards it.
 */
#ifndef HEW_BASE_LIST_H
#define HEW_BASE_LIST_H

#include "base/compiler.h"

struct hew_list {
    struct hew_list *next, *previous;
};

HEW_INLINE void
hew_list_begin(struct hew_list *head)
{
    head->next = head->previous = head;
}

HEW_INLINE bool
hew_list_is_empty(const struct hew_list *head)
{
    return head->next == head;
}

HEW_INLINE void
hew_list_insert_after(struct hew_list *place, struct hew_list *node)
{
    node->previous = place;
    node->next = place->next;
    place->next->previous = node;
    place->next = node;
}

/* Inserts at the front: hew_list_first() returns it next. */
HEW_INLINE void
hew_list_push_front(struct hew_list *head, struct hew_list *node)
{
    hew_list_insert_after(head, node);
}

HEW_INLINE void
hew_list_push_back(struct hew_list *head, struct hew_list *node)
{
    hew_list_insert_after(head->previous, node);
}

HEW_INLINE void
hew_list_remove(struct hew_list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->next = node->previous = node;
}

/* NULL when empty. */
HEW_INLINE struct hew_list *
hew_list_first(const struct hew_list *head)
{
    return head->next == head ? NULL : head->next;
}

#endif
