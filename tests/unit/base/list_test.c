/* SPDX-License-Identifier: MIT */
/* Unit tests of base/list: order at both ends, and removal from anywhere. */
#include "base/list.h"

#include "test.h"

struct item {
    unsigned number;
    struct hew_list place;
};

/* The numbers from front to back as digits; the way back is checked against the way there. */
static const char *
numbers(const struct hew_list *head)
{
    static char digits[32];
    size_t length = 0;
    for (struct hew_list *node = head->next; node != head; node = node->next) {
        digits[length++] = (char)('0' + HEW_CONTAINER(node, struct item, place)->number);
    }
    digits[length] = '\0';
    for (struct hew_list *node = head->previous; node != head; node = node->previous) {
        CHECK_EQUAL(digits[--length], '0' + HEW_CONTAINER(node, struct item, place)->number);
    }
    CHECK_EQUAL(length, 0);
    return digits;
}

TEST(a_new_list_is_empty)
{
    struct hew_list head;
    hew_list_begin(&head);
    CHECK(hew_list_is_empty(&head));
    CHECK(hew_list_first(&head) == NULL);
}

TEST(the_front_is_first_and_the_back_is_last)
{
    struct hew_list head;
    struct item items[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    hew_list_begin(&head);
    hew_list_push_back(&head, &items[1].place);
    hew_list_push_back(&head, &items[2].place);
    hew_list_push_front(&head, &items[0].place);
    hew_list_insert_after(&items[1].place, &items[3].place);
    CHECK_TEXT(numbers(&head), "1243");
    CHECK(hew_list_first(&head) == &items[0].place);
    CHECK(!hew_list_is_empty(&head));
}

TEST(any_node_can_be_removed_and_joins_again)
{
    struct hew_list head;
    struct item items[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    hew_list_begin(&head);
    for (unsigned i = 0; i < 3; i++) {
        hew_list_push_back(&head, &items[i].place);
    }
    hew_list_remove(&items[1].place);
    CHECK_TEXT(numbers(&head), "13");
    hew_list_remove(&items[2].place);
    CHECK_TEXT(numbers(&head), "1");
    hew_list_push_back(&head, &items[1].place);
    hew_list_remove(&items[0].place);
    CHECK_TEXT(numbers(&head), "2");
    hew_list_remove(&items[1].place);
    CHECK(hew_list_is_empty(&head));
}

TEST(a_removed_node_is_a_list_of_its_own_so_that_removing_it_twice_harms_nobody)
{
    struct hew_list head;
    struct item items[2] = {{.number = 1}, {.number = 2}};
    hew_list_begin(&head);
    hew_list_push_back(&head, &items[0].place);
    hew_list_push_back(&head, &items[1].place);
    hew_list_remove(&items[0].place);
    hew_list_remove(&items[0].place);
    CHECK_TEXT(numbers(&head), "2");
    CHECK(hew_list_is_empty(&items[0].place));
}
