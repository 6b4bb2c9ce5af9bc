/* SPDX-License-Identifier: MIT */
/* reader: see reader.h.  The index of blocks, and files. */
#include "format/reader.h"

#include "format/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

static bool
refuse(char why[HEW_TRACE_WHY], const char *text)
{
    snprintf(why, HEW_TRACE_WHY, "%s", text);
    return false;
}

static bool
read_header(struct hew_trace *trace, char why[HEW_TRACE_WHY])
{
    struct hew_trace_header *header = &trace->header;

    if (trace->size < sizeof(*header)) {
        return refuse(why,
                      trace->size == 0 ? "an empty file, no trace" : "no trace of hew record: shorter than its header");
    }
    memcpy(header, trace->bytes, sizeof(*header));
    if (memcmp(header->magic, HEW_TRACE_MAGIC, sizeof(header->magic)) != 0) {
        return refuse(why, "no trace of hew record: it does not begin with \"hewtrace\"");
    }
    if (header->version == 0 || header->version > HEW_TRACE_VERSION) {
        snprintf(why, HEW_TRACE_WHY, "a trace of version %u: this hew reads versions 1 to %d", header->version,
                 HEW_TRACE_VERSION);
        return false;
    }
    if (header->first_block < sizeof(*header) || header->first_block > trace->size) {
        return refuse(why, "damaged: its first block is said to lie outside of the file");
    }
    return true;
}

/* Whether a header is usable: its payload lies in the file, or is cut off at the file's end. */
static bool
is_block(const struct hew_trace_block *block, size_t left)
{
    if (block->magic != HEW_TRACE_BLOCK_MAGIC || block->room < sizeof(*block) ||
        block->room > HEW_TRACE_LENGTH_MAX * 2) {
        return false;
    }
    return block->state == HEW_TRACE_OPEN ||
           (block->stored <= block->room - sizeof(*block) && block->stored <= left - sizeof(*block) &&
            hew_trace_crc(block, sizeof(*block) - sizeof(block->header_checksum)) == block->header_checksum);
}

static int
by_thread_and_sequence(const void *left, const void *right)
{
    const struct hew_trace_part *a = left, *b = right;

    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/*
 * Renumbers the threads without gaps, so that a damaged thread number cannot make tables large.  Afterwards the parts
 * are sorted.  False without memory.
 */
static bool
number_threads(struct hew_trace *trace)
{
    uint32_t thread = 0, before = 0;
    size_t kept = 0;

    trace->names = malloc((trace->part_count + 1) * sizeof(*trace->names));
    if (trace->names == NULL) {
        return false;
    }
    if (trace->part_count > 0) {
        qsort(trace->parts, trace->part_count, sizeof(*trace->parts), by_thread_and_sequence);
    }
    for (size_t i = 0; i < trace->part_count; i++) {
        struct hew_trace_part part = trace->parts[i];
        bool first = kept == 0 || part.thread != before;
        uint32_t expected = first ? 0 : trace->parts[kept - 1].sequence + 1;
        if (part.sequence < expected) { /* a duplicate */
            trace->damaged++;
            continue;
        }
        trace->missing += part.sequence - expected;
        thread += first && kept > 0;
        before = trace->names[thread] = part.thread;
        part.thread = thread;
        trace->parts[kept++] = part;
    }
    trace->part_count = kept;
    trace->thread_count = kept == 0 ? 0 : thread + 1;
    return true;
}

static bool
add_part(struct hew_trace *trace, const struct hew_trace_block *block, const uint8_t *payload, uint32_t size)
{
    if ((trace->part_count & (trace->part_count - 1)) == 0) { /* a power of two: full */
        size_t more = trace->part_count == 0 ? 1 : trace->part_count * 2;
        struct hew_trace_part *parts = realloc(trace->parts, more * sizeof(*parts));
        if (parts == NULL) {
            return false;
        }
        trace->parts = parts;
    }
    trace->parts[trace->part_count++] = (struct hew_trace_part){
        .payload = payload,
        .size = size,
        .thread = block->thread,
        .sequence = block->sequence,
        .number = block->number,
        .ticket = block->ticket,
        .time = block->time,
    };
    return true;
}

/* Adds the block's nodes [number .. number + count).  False: no memory.  Incomplete nodes, and nodes without a place,
 * are left out. */
static bool
add_nodes(struct hew_trace *trace, const struct hew_trace_block *block, const uint8_t *payload, size_t size)
{
    size_t count = size / sizeof(struct hew_trace_node), end;

    /* The file's size bounds its number of nodes; larger numbers are damage. */
    if (block->number == 0 || block->number > trace->size / sizeof(struct hew_trace_node) + 1) {
        trace->damaged++;
        return true;
    }
    end = (size_t)block->number + count;
    if (end > trace->node_count) {
        struct hew_trace_node *nodes = realloc(trace->nodes, end * sizeof(*nodes));
        if (nodes == NULL) {
            return false;
        }
        memset(nodes + trace->node_count, 0, (end - trace->node_count) * sizeof(*nodes));
        trace->nodes = nodes;
        trace->node_count = (uint32_t)end;
    }
    memcpy(trace->nodes + block->number, payload, count * sizeof(struct hew_trace_node));
    return true;
}

/* A parent's number is lower than its children's, so following parents always ends.  Damaged nodes lose their
 * parent. */
static void
check_nodes(struct hew_trace *trace)
{
    for (uint32_t i = 0; i < trace->node_count; i++) {
        if (trace->nodes[i].parent >= i) {
            trace->nodes[i].parent = 0;
        }
    }
}

/* Adds the block's objects; their threads still have the file's numbers.  False: no memory. */
static bool
add_lost(struct hew_trace *trace, const uint8_t *payload, size_t size)
{
    size_t count = size / sizeof(struct hew_trace_lost);
    struct hew_trace_object *lost = realloc(trace->lost, (trace->lost_count + count + 1) * sizeof(*lost));

    if (lost == NULL) {
        return false;
    }
    trace->lost = lost;
    for (size_t i = 0; i < count; i++) {
        struct hew_trace_lost row;
        memcpy(&row, payload + i * sizeof(row), sizeof(row));
        lost[trace->lost_count++] = (struct hew_trace_object){row.thread, row.number};
    }
    return true;
}

/* Takes one block with a usable header.  False with a line in `why`: reading must stop. */
static bool
take_block(struct hew_trace *trace, const struct hew_trace_block *block, size_t offset, char why[HEW_TRACE_WHY])
{
    const uint8_t *payload = trace->bytes + offset + sizeof(*block);
    size_t left = trace->size - offset - sizeof(*block);
    bool open = block->state == HEW_TRACE_OPEN;
    size_t size = open ? block->room - sizeof(*block) : block->stored;

    if (block->codec != HEW_TRACE_STORED) {
        return refuse(why, "compressed: `hew replay` and its like unpack it first");
    }
    size = size < left ? size : left;
    if (!open && hew_trace_crc(payload, size) != block->checksum) {
        trace->damaged++;
        return true;
    }
    if (block->kind == HEW_TRACE_INFO && trace->info == NULL) {
        trace->info = (const char *)payload;
        trace->info_size = (uint32_t)size;
    }
    if (block->kind == HEW_TRACE_OPERATIONS && !add_part(trace, block, payload, (uint32_t)size)) {
        return refuse(why, "no memory for the list of its blocks");
    }
    if (block->kind == HEW_TRACE_NODES && !add_nodes(trace, block, payload, size)) {
        return refuse(why, "no memory for the tree of its stacks");
    }
    if (block->kind == HEW_TRACE_LOST && !add_lost(trace, payload, size)) {
        return refuse(why, "no memory for its lost objects");
    }
    return true;
}

bool
hew_trace_find_block(const uint8_t *bytes, size_t size, size_t *offset)
{
    struct hew_trace_block block;

    for (size_t at = *offset; size - at >= sizeof(block); at = (at / PAGE + 1) * PAGE) {
        memcpy(&block, bytes + at, sizeof(block));
        if (is_block(&block, size - at)) {
            *offset = at;
            return true;
        }
        if (size - at < PAGE) {
            break;
        }
    }
    return false;
}

static bool
read_blocks(struct hew_trace *trace, char why[HEW_TRACE_WHY])
{
    size_t offset = trace->header.first_block;

    while (hew_trace_find_block(trace->bytes, trace->size, &offset)) {
        struct hew_trace_block block;
        memcpy(&block, trace->bytes + offset, sizeof(block));
        if (!take_block(trace, &block, offset, why)) {
            return false;
        }
        offset = block.room >= trace->size - offset ? trace->size : offset + block.room;
    }
    trace->cut_off = trace->size - offset;
    check_nodes(trace);
    if (!number_threads(trace)) {
        return refuse(why, "no memory for the list of its threads");
    }
    for (size_t i = 0; i < trace->lost_count; i++) {
        trace->lost[i].thread = hew_trace_thread_of_file(trace, trace->lost[i].thread);
    }
    return true;
}

bool
hew_trace_open(struct hew_trace *trace, const void *bytes, size_t size, char why[HEW_TRACE_WHY])
{
    *trace = (struct hew_trace){.bytes = bytes, .size = size};
    if (!read_header(trace, why) || !read_blocks(trace, why)) {
        hew_trace_close(trace);
        return false;
    }
    return true;
}

bool
hew_trace_open_file(struct hew_trace *trace, const char *path, char why[HEW_TRACE_WHY])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    void *bytes = NULL;

    if (file < 0 || fstat(file, &about) != 0) {
        snprintf(why, HEW_TRACE_WHY, "%s", strerror(errno));
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    if (!S_ISREG(about.st_mode)) {
        close(file);
        return refuse(why, "no file, as a trace is");
    }
    if (about.st_size != 0) {
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    }
    close(file);
    if (bytes == MAP_FAILED) {
        snprintf(why, HEW_TRACE_WHY, "it cannot be mapped: %s", strerror(errno));
        return false;
    }
    if (!hew_trace_open(trace, bytes, (size_t)about.st_size, why)) {
        if (bytes != NULL) {
            munmap(bytes, (size_t)about.st_size);
        }
        return false;
    }
    trace->mapped = true;
    return true;
}

void
hew_trace_close(struct hew_trace *trace)
{
    free(trace->parts);
    free(trace->names);
    free(trace->nodes);
    free(trace->lost);
    if (trace->mapped) {
        munmap((void *)(uintptr_t)trace->bytes, trace->size);
    }
    *trace = (struct hew_trace){0};
}
