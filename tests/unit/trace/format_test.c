/* SPDX-License-Identifier: MIT */
#include "trace/fixture.h"

#include "format/crc.h"
#include "format/finish.h"
#include "test.h"

TEST(the_checksum_is_that_of_zlib)
{
    CHECK_EQUAL(hew_trace_crc("123456789", 9), 0xCBF43926);
    CHECK_EQUAL(hew_trace_crc("", 0), 0);
}

TEST(numbers_of_every_width_come_back)
{
    const uint64_t values[] = {0,         1, 27, 28, 251, 252, 255, 256, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32,
                               UINT64_MAX};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        for (unsigned bits = 5; bits <= 8; bits += 3) {
            uint8_t bytes[16] = {0};
            const uint8_t *at = bytes, *end = hew_trace_put_number(bytes, bits, 0, values[i]);
            uint64_t value;
            CHECK(hew_trace_get_number(&at, end, bits, &value));
            CHECK_EQUAL(value, values[i]);
            CHECK(at == end);
            at = bytes;
            CHECK(!hew_trace_get_number(&at, end - 1, bits, &value));
        }
    }
}

TEST(a_thread_reads_back_what_it_wrote)
{
    static struct fixture fixture;
    struct hew_trace_writer writer = {.thread = 7};
    struct hew_trace_cursor cursor;
    struct hew_trace_operation operation;

    fixture_begin(&fixture);
    fixture_block(&fixture, &writer);
    hew_trace_write_sync(&writer, 5, 1000);
    CHECK_EQUAL(hew_trace_write_malloc(&writer, HEW_TRACE_CALLOC, 70000), 0);
    CHECK_EQUAL(hew_trace_write_aligned(&writer, 12, 4096), 1);
    CHECK_EQUAL(hew_trace_write_realloc(&writer, 7, 0, 9), 2);
    hew_trace_write_touched(&writer, 7, 2, 3);
    hew_trace_write_free(&writer, 7, 2);
    hew_trace_write_exit(&writer);
    hew_trace_writer_close(&writer);

    CHECK(fixture_open(&fixture));
    CHECK_EQUAL(fixture.trace.thread_count, 1);
    hew_trace_cursor_begin(&cursor, &fixture.trace, 0);
    CHECK(hew_trace_cursor_next(&cursor, &operation) && operation.kind == HEW_TRACE_DID_SYNC);
    CHECK_EQUAL(operation.ticket, 5);
    CHECK_EQUAL(operation.time, 1000);
    CHECK(hew_trace_cursor_next(&cursor, &operation) && operation.kind == HEW_TRACE_DID_ALLOCATE && operation.zeroed);
    CHECK_EQUAL(operation.size, 70000);
    CHECK(hew_trace_cursor_next(&cursor, &operation) && operation.kind == HEW_TRACE_DID_ALLOCATE && !operation.zeroed);
    CHECK_EQUAL(operation.lg_align, 12);
    CHECK_EQUAL(operation.made.number, 1);
    CHECK(hew_trace_cursor_next(&cursor, &operation) && operation.kind == HEW_TRACE_DID_REALLOCATE);
    CHECK_EQUAL(operation.ended.number, 0);
    CHECK_EQUAL(operation.made.number, 2);
    CHECK_EQUAL(operation.size, 9);
    CHECK(hew_trace_cursor_next(&cursor, &operation) && operation.kind == HEW_TRACE_DID_TOUCH);
    CHECK_EQUAL(operation.ended.number, 2);
    CHECK_EQUAL(operation.size, 3);
    CHECK(hew_trace_cursor_next(&cursor, &operation) && operation.kind == HEW_TRACE_DID_FREE);
    CHECK_EQUAL(operation.ended.number, 2);
    CHECK(hew_trace_cursor_next(&cursor, &operation) && operation.kind == HEW_TRACE_DID_EXIT);
    CHECK(!hew_trace_cursor_next(&cursor, &operation));
    CHECK_EQUAL(cursor.faults, 0);
    hew_trace_close(&fixture.trace);
}

/* Thread 1's block comes first in the file, and frees what thread 0 made. */
static void
two_threads(struct fixture *fixture)
{
    struct hew_trace_writer maker = {.thread = 0}, ender = {.thread = 1};

    fixture_begin(fixture);
    fixture_block(fixture, &ender);
    fixture_block(fixture, &maker);
    hew_trace_write_sync(&maker, 1, 10);
    hew_trace_write_malloc(&maker, HEW_TRACE_MALLOC, 100);
    hew_trace_write_sync(&ender, 2, 10);
    hew_trace_write_free(&ender, 0, 0);
    hew_trace_write_sync(&maker, 3, 11);
    hew_trace_write_malloc(&maker, HEW_TRACE_MALLOC, 200);
    hew_trace_writer_close(&maker);
    hew_trace_writer_close(&ender);
}

TEST(what_a_thread_hands_over_is_found_although_threads_before_it_left_no_block)
{
    static struct fixture fixture;
    struct hew_trace_writer maker = {.thread = 3}, ender = {.thread = 5};
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    unsigned freed = 0;

    fixture_begin(&fixture);
    fixture_block(&fixture, &ender);
    fixture_block(&fixture, &maker);
    hew_trace_write_sync(&maker, 1, 10);
    hew_trace_write_malloc(&maker, HEW_TRACE_MALLOC, 100);
    hew_trace_write_sync(&ender, 2, 10);
    hew_trace_write_malloc(&ender, HEW_TRACE_MALLOC, 200);
    hew_trace_write_free(&ender, 3, 0);
    hew_trace_write_free(&ender, 4, 0); /* whose block is lost */
    hew_trace_writer_close(&maker);
    hew_trace_writer_close(&ender);
    CHECK(fixture_open(&fixture) && hew_trace_merge_begin(&merge, &fixture.trace));
    CHECK_EQUAL(fixture.trace.thread_count, 2);
    while (hew_trace_merge_next(&merge, &operation)) {
        if (operation.kind == HEW_TRACE_DID_FREE) {
            freed++;
            CHECK_EQUAL(operation.ended.thread, 0);
            CHECK_EQUAL(operation.ended_size, 100);
        }
    }
    CHECK_EQUAL(freed, 1);
    CHECK_EQUAL(merge.unknown, 1);
    hew_trace_merge_end(&merge);
    hew_trace_close(&fixture.trace);
}

TEST(merged_threads_make_each_object_before_it_ends_and_use_slots_again)
{
    static struct fixture fixture;
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;

    two_threads(&fixture);
    CHECK(fixture_open(&fixture) && hew_trace_merge_begin(&merge, &fixture.trace));
    CHECK(hew_trace_merge_next(&merge, &operation) && operation.kind == HEW_TRACE_DID_SYNC && operation.ticket == 1);
    CHECK(hew_trace_merge_next(&merge, &operation) && operation.kind == HEW_TRACE_DID_ALLOCATE);
    CHECK_EQUAL(operation.slot, 0);
    CHECK(hew_trace_merge_next(&merge, &operation) && operation.kind == HEW_TRACE_DID_SYNC && operation.thread == 1);
    CHECK(hew_trace_merge_next(&merge, &operation) && operation.kind == HEW_TRACE_DID_FREE);
    CHECK_EQUAL(operation.ended_size, 100);
    CHECK_EQUAL(operation.ended_slot, 0);
    CHECK(hew_trace_merge_next(&merge, &operation) && operation.kind == HEW_TRACE_DID_SYNC && operation.ticket == 3);
    CHECK(hew_trace_merge_next(&merge, &operation) && operation.kind == HEW_TRACE_DID_ALLOCATE);
    CHECK_EQUAL(operation.slot, 0);
    CHECK(!hew_trace_merge_next(&merge, &operation));
    CHECK_EQUAL(merge.unknown, 0);
    CHECK_EQUAL(merge.operations, 3);
    hew_trace_merge_end(&merge);
    hew_trace_close(&fixture.trace);
}

TEST(a_block_whose_writer_was_killed_reads_to_its_last_operation)
{
    static struct fixture fixture;
    struct hew_trace_writer writer = {0};
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    unsigned count = 0;

    fixture_begin(&fixture);
    fixture_block(&fixture, &writer);
    hew_trace_write_sync(&writer, 1, 0);
    for (int i = 0; i < 5; i++) {
        hew_trace_write_malloc(&writer, HEW_TRACE_MALLOC, 0);
    }
    CHECK(fixture_open(&fixture) && hew_trace_merge_begin(&merge, &fixture.trace));
    while (hew_trace_merge_next(&merge, &operation)) {
        count += operation.kind == HEW_TRACE_DID_ALLOCATE;
    }
    CHECK_EQUAL(count, 5);
    hew_trace_merge_end(&merge);
    hew_trace_close(&fixture.trace);
}

TEST(operations_that_are_not_in_the_trace_are_counted_before_the_next_one)
{
    static struct fixture fixture;
    struct hew_trace_writer writer = {.thread = 0};
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;
    uint64_t passed[8];
    size_t count = 0;

    fixture_begin(&fixture);
    for (int block = 0; block < 2; block++) {
        fixture_block(&fixture, &writer);
        hew_trace_write_sync(&writer, block + 1, 0);
        hew_trace_write_malloc(&writer, HEW_TRACE_MALLOC, 10);
        hew_trace_write_passed(&writer, 7);
        hew_trace_write_passed(&writer, 300);
        hew_trace_write_free(&writer, 0, (uint64_t)block);
        hew_trace_writer_close(&writer);
    }
    CHECK(fixture_open(&fixture));
    CHECK(hew_trace_merge_begin(&merge, &fixture.trace));
    while (hew_trace_merge_next(&merge, &operation)) {
        if (operation.kind == HEW_TRACE_DID_ALLOCATE || operation.kind == HEW_TRACE_DID_FREE) {
            passed[count++] = operation.passed;
        }
    }
    CHECK_EQUAL(count, 4);
    CHECK_EQUAL(passed[0], 0);
    CHECK_EQUAL(passed[1], 307);
    CHECK_EQUAL(passed[2], 307); /* of the thread, not of the block */
    CHECK_EQUAL(passed[3], 614);
    CHECK_EQUAL(merge.operations, 4);
    hew_trace_merge_end(&merge);
    hew_trace_close(&fixture.trace);
}

/* A block of the tree of stacks, whose first node has this number. */
static void
nodes_block(struct fixture *fixture, uint64_t number, const struct hew_trace_node *nodes, size_t count)
{
    struct hew_trace_block block = {.magic = HEW_TRACE_BLOCK_MAGIC,
                                    .kind = HEW_TRACE_NODES,
                                    .state = HEW_TRACE_OPEN,
                                    .room = ROOM,
                                    .number = number};

    memcpy(fixture->bytes + fixture->size, &block, sizeof(block));
    memcpy(fixture->bytes + fixture->size + sizeof(block), nodes, count * sizeof(*nodes));
    fixture->size += ROOM;
}

static void
trace_with_stacks(struct fixture *fixture)
{
    static const struct hew_trace_node nodes[] = {{0x1000, 0, 0}, {0x2000, 1, 0}, {0, 0, 0}, {0x4000, 9, 0}};
    struct hew_trace_writer writer = {0};

    fixture_begin(fixture);
    fixture_block(fixture, &writer);
    hew_trace_write_sync(&writer, 1, 0);
    hew_trace_write_malloc(&writer, HEW_TRACE_MALLOC, 1);
    hew_trace_write_node(&writer, 2);
    hew_trace_write_malloc(&writer, HEW_TRACE_MALLOC, 2);
    hew_trace_write_malloc(&writer, HEW_TRACE_MALLOC, 3);
    hew_trace_write_node(&writer, 70); /* which no block tells of */
    hew_trace_write_malloc(&writer, HEW_TRACE_MALLOC, 4);
    nodes_block(fixture, 1, nodes, 4);
    nodes_block(fixture, 1000000, nodes, 4); /* a file so small has no room for so many */
}

TEST(allocations_have_the_stack_that_their_block_told_last)
{
    static struct fixture fixture;
    struct hew_trace_cursor cursor;
    struct hew_trace_operation operation;
    uint32_t expected[] = {0, 2, 2, 0};

    trace_with_stacks(&fixture);
    CHECK(fixture_open(&fixture));
    hew_trace_cursor_begin(&cursor, &fixture.trace, 0);
    while (hew_trace_cursor_next(&cursor, &operation)) {
        if (operation.kind == HEW_TRACE_DID_ALLOCATE) {
            CHECK(operation.size <= 4);
            CHECK_EQUAL(operation.node, expected[(operation.size - 1) % 4]);
        }
    }
    CHECK_EQUAL(cursor.number, 4);
    CHECK_EQUAL(fixture.trace.nodes[2].address, 0x2000);
    CHECK_EQUAL(fixture.trace.nodes[2].parent, 1);
    CHECK_EQUAL(fixture.trace.damaged, 1);
    hew_trace_close(&fixture.trace);
}

TEST(a_parent_comes_before_its_children_even_where_a_file_says_otherwise)
{
    static struct fixture fixture;

    trace_with_stacks(&fixture);
    CHECK(fixture_open(&fixture));
    CHECK_EQUAL(fixture.trace.nodes[4].address, 0x4000);
    CHECK_EQUAL(fixture.trace.nodes[4].parent, 0);
    hew_trace_close(&fixture.trace);
}

TEST(a_tree_that_was_left_open_is_closed_at_its_last_node)
{
    static struct fixture fixture;
    struct hew_trace_block block;

    trace_with_stacks(&fixture);
    CHECK_EQUAL(hew_trace_finish(fixture.bytes, fixture.size), 3);
    memcpy(&block, fixture.bytes + 64 + ROOM, sizeof(block));
    CHECK_EQUAL(block.state, HEW_TRACE_CLOSED);
    CHECK_EQUAL(block.stored, 4 * sizeof(struct hew_trace_node));
    CHECK(fixture_open(&fixture));
    CHECK_EQUAL(fixture.trace.nodes[1].address, 0x1000);
    hew_trace_close(&fixture.trace);
}

TEST(a_damaged_block_loses_its_own_operations_and_is_counted)
{
    static struct fixture fixture;
    struct hew_trace_merge merge;
    struct hew_trace_operation operation;

    two_threads(&fixture);
    fixture.bytes[64 + ROOM + 64 + 1] ^= 1; /* the maker's payload */
    CHECK(fixture_open(&fixture) && hew_trace_merge_begin(&merge, &fixture.trace));
    CHECK_EQUAL(fixture.trace.damaged, 1);
    CHECK(hew_trace_merge_next(&merge, &operation) && operation.kind == HEW_TRACE_DID_SYNC);
    CHECK(!hew_trace_merge_next(&merge, &operation));
    CHECK_EQUAL(merge.unknown, 1);
    hew_trace_merge_end(&merge);
    hew_trace_close(&fixture.trace);
}

TEST(what_a_trace_cut_short_still_has_is_read)
{
    static struct fixture fixture;

    two_threads(&fixture);
    fixture.size -= ROOM - 60; /* in the second block's header */
    CHECK(fixture_open(&fixture));
    CHECK_EQUAL(fixture.trace.part_count, 1);
    CHECK_EQUAL(fixture.trace.cut_off, 60);
    hew_trace_close(&fixture.trace);
}

TEST(what_is_no_trace_is_refused_in_one_line)
{
    static struct fixture fixture;

    fixture_begin(&fixture);
    fixture.bytes[8] = 9;
    CHECK(!fixture_open(&fixture));
    CHECK_TEXT(fixture.why, "a trace of version 9: this hew reads versions 1 to 4");
    fixture.bytes[0] = 'x';
    CHECK(!fixture_open(&fixture));
    CHECK_TEXT(fixture.why, "no trace of hew record: it does not begin with \"hewtrace\"");
    fixture.size = 0;
    CHECK(!fixture_open(&fixture));
    CHECK_TEXT(fixture.why, "an empty file, no trace");
    CHECK(!hew_trace_open_file(&fixture.trace, "/", fixture.why));
    CHECK_TEXT(fixture.why, "no file, as a trace is");
}
