/* SPDX-License-Identifier: MIT */
#include "prof/pprof.h"

#include "base/options.h"
#include "base/size_class.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/memory.h"
#include "prof/gzip.h"
#include "prof/mappings.h"
#include "prof/profiler.h"
#include "prof/protobuf.h"

#include <string.h>

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_STRING = 6 };
enum { PROFILE_DROP_FRAMES = 7, PROFILE_TIME = 9, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12, PROFILE_DEFAULT = 14 };
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum {
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3 };

/* The strings of every profile, by number; number 0 must be "". */
static const char *const strings[] = {
    "", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "space", "thread",
    "thread_name",
    /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one pattern in two lines */
    "(__libc_|__GI___libc_)?(malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc|pvalloc|"
    "mallocx|rallocx)|operator new(\\[\\])?.*"};
enum { ALLOC_OBJECTS = 1, COUNT, ALLOC_SPACE, BYTES, INUSE_OBJECTS, INUSE_SPACE, SPACE, THREAD, THREAD_NAME, DROPPED };
enum { STRINGS = sizeof strings / sizeof strings[0] };

#define MAPPINGS_MOST 4096
#define MESSAGE_BYTES ((size_t)8 << 10) /* 256 frames of 10 bytes and some */

struct range {
    uintptr_t begin, end;
};

struct writer {
    struct hew_gzip gzip;
    struct hew_protobuf message, inner;
    uint8_t message_bytes[MESSAGE_BYTES], inner_bytes[MESSAGE_BYTES];
    uint64_t string_count;
    unsigned mapping_count;
    struct range mappings[MAPPINGS_MOST];
    size_t address_count;
    uintptr_t addresses[]; /* sorted, unique; a location's number is its index + 1 */
};

static void
put_message(struct writer *writer, unsigned field)
{
    uint8_t head_bytes[32];
    struct hew_protobuf head = {head_bytes, 0, sizeof head_bytes};
    hew_protobuf_head(&head, field, writer->message.length);
    hew_gzip_put(&writer->gzip, head.at, head.length);
    hew_gzip_put(&writer->gzip, writer->message.at, writer->message.length);
    writer->message.length = 0;
}

static void
put_number(struct writer *writer, unsigned field, uint64_t value)
{
    uint8_t bytes[32];
    struct hew_protobuf number = {bytes, 0, sizeof bytes};
    hew_protobuf_number(&number, field, value);
    hew_gzip_put(&writer->gzip, number.at, number.length);
}

/* Adds a string to the profile's table and returns its number. */
static uint64_t
put_string(struct writer *writer, const void *text, size_t length)
{
    uint8_t *bytes = writer->inner_bytes;
    struct hew_protobuf string = {bytes, 0, sizeof writer->inner_bytes};
    hew_protobuf_bytes(&string, PROFILE_STRING, text, length);
    hew_gzip_put(&writer->gzip, string.at, string.length);
    return writer->string_count++;
}

static void
put_type(struct writer *writer, unsigned field, uint64_t type, uint64_t unit)
{
    hew_protobuf_number(&writer->message, TYPE_TYPE, type);
    hew_protobuf_number(&writer->message, TYPE_UNIT, unit);
    put_message(writer, field);
}

static void
put_head(struct writer *writer, uint64_t interval)
{
    for (unsigned i = 0; i < STRINGS; i++) {
        put_string(writer, strings[i], strlen(strings[i]));
    }
    if (hew_options.prof_accum) {
        put_type(writer, PROFILE_SAMPLE_TYPE, ALLOC_OBJECTS, COUNT);
        put_type(writer, PROFILE_SAMPLE_TYPE, ALLOC_SPACE, BYTES);
    }
    put_type(writer, PROFILE_SAMPLE_TYPE, INUSE_OBJECTS, COUNT);
    put_type(writer, PROFILE_SAMPLE_TYPE, INUSE_SPACE, BYTES);
    put_type(writer, PROFILE_PERIOD_TYPE, SPACE, BYTES);
    put_number(writer, PROFILE_PERIOD, interval);
    put_number(writer, PROFILE_DEFAULT, INUSE_SPACE);
    put_number(writer, PROFILE_DROP_FRAMES, DROPPED);
    put_number(writer, PROFILE_TIME, hew_clock_wall_ns());
}

static void
put_mapping(const struct hew_mapping *mapping, void *context)
{
    struct writer *writer = context;
    if (writer->mapping_count == MAPPINGS_MOST) {
        return;
    }
    char digits[2 * HEW_BUILD_ID];
    for (unsigned i = 0; i < mapping->build_id_bytes; i++) {
        digits[2 * i] = "0123456789abcdef"[mapping->build_id[i] >> 4];
        digits[2 * i + 1] = "0123456789abcdef"[mapping->build_id[i] & 15];
    }
    uint64_t file = put_string(writer, mapping->path, strlen(mapping->path));
    uint64_t id = mapping->build_id_bytes == 0 ? 0 : put_string(writer, digits, 2 * mapping->build_id_bytes);
    writer->mappings[writer->mapping_count++] = (struct range){mapping->begin, mapping->end};
    hew_protobuf_number(&writer->message, MAPPING_ID, writer->mapping_count);
    hew_protobuf_number(&writer->message, MAPPING_START, mapping->begin);
    hew_protobuf_number(&writer->message, MAPPING_LIMIT, mapping->end);
    hew_protobuf_number(&writer->message, MAPPING_OFFSET, mapping->offset);
    hew_protobuf_number(&writer->message, MAPPING_FILE, file);
    hew_protobuf_number(&writer->message, MAPPING_BUILD_ID, id);
    put_message(writer, PROFILE_MAPPING);
}

static void
sift_down(uintptr_t *values, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        child += child + 1 < count && values[child + 1] > values[child];
        if (values[root] >= values[child]) {
            return;
        }
        uintptr_t swap = values[root];
        values[root] = values[child];
        values[child] = swap;
    }
}

/* Sorts in place; libc's qsort may allocate. */
static void
sort(uintptr_t *values, size_t count)
{
    for (size_t root = count / 2; root-- > 0;) {
        sift_down(values, root, count);
    }
    for (size_t end = count; end-- > 1;) {
        uintptr_t swap = values[0];
        values[0] = values[end];
        values[end] = swap;
        sift_down(values, 0, end);
    }
}

static size_t
frames_in(const struct hew_snapshot *snapshot)
{
    size_t frames = 0;
    for (size_t i = 0; i < snapshot->stack_count; i++) {
        frames += snapshot->stacks[i].depth;
    }
    return frames;
}

static void
collect_addresses(struct writer *writer, const struct hew_snapshot *snapshot)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < snapshot->stack_count; i++) {
        const struct hew_snapshot_stack *stack = &snapshot->stacks[i];
        memcpy(writer->addresses + count, stack->frames, stack->depth * sizeof *stack->frames);
        count += stack->depth;
    }
    sort(writer->addresses, count);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || writer->addresses[kept - 1] != writer->addresses[i]) {
            writer->addresses[kept++] = writer->addresses[i];
        }
    }
    writer->address_count = kept;
}

/* The index of `address` among `count` sorted numbers, which are `stride` numbers apart, or where to insert it. */
static size_t
place_of(const uintptr_t *values, size_t count, size_t stride, uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle * stride] < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Frames are return addresses: the call is before them. */
static void
put_locations(struct writer *writer)
{
    for (size_t i = 0; i < writer->address_count; i++) {
        uintptr_t address = writer->addresses[i] - 1;
        size_t mapping = place_of(&writer->mappings[0].begin, writer->mapping_count, 2, address + 1);
        bool inside = mapping > 0 && address < writer->mappings[mapping - 1].end;
        hew_protobuf_number(&writer->message, LOCATION_ID, i + 1);
        hew_protobuf_number(&writer->message, LOCATION_MAPPING, inside ? mapping : 0);
        hew_protobuf_number(&writer->message, LOCATION_ADDRESS, address);
        put_message(writer, PROFILE_LOCATION);
    }
}

static void
put_label(struct writer *writer, uint64_t key, uint64_t text, uint64_t number)
{
    writer->inner = (struct hew_protobuf){writer->inner_bytes, 0, sizeof writer->inner_bytes};
    hew_protobuf_number(&writer->inner, LABEL_KEY, key);
    hew_protobuf_number(&writer->inner, LABEL_TEXT, text);
    hew_protobuf_number(&writer->inner, LABEL_NUMBER, number);
    hew_protobuf_bytes(&writer->message, SAMPLE_LABEL, writer->inner.at, writer->inner.length);
}

static void
put_counts(struct writer *writer, const struct hew_snapshot_stack *stack, const struct hew_prof_totals *live,
           const struct hew_prof_totals *ever)
{
    uint64_t locations[HEW_PROF_FRAMES_MAX], values[4];
    unsigned count = 0;
    for (unsigned i = 0; i < stack->depth; i++) {
        locations[i] = place_of(writer->addresses, writer->address_count, 1, stack->frames[i]) + 1;
    }
    struct hew_prof_shown now = hew_weight_estimate(live, hew_options.prof_unbias);
    struct hew_prof_shown all = hew_weight_estimate(ever, hew_options.prof_unbias);
    if (hew_options.prof_accum) {
        values[count++] = all.objects;
        values[count++] = all.bytes;
    }
    values[count++] = now.objects;
    values[count++] = now.bytes;
    hew_protobuf_packed(&writer->message, SAMPLE_LOCATION, locations, stack->depth);
    hew_protobuf_packed(&writer->message, SAMPLE_VALUE, values, count);
}

/* The string number of a thread's name: `first` + the thread's index, because threads are sorted by number; 0: none. */
static uint64_t
name_of(const struct hew_snapshot *snapshot, uint64_t first, uint64_t number)
{
    const struct hew_snapshot_thread *threads = snapshot->threads;
    size_t place = place_of(&threads->number, snapshot->thread_count, sizeof *threads / sizeof number, number);
    bool named = place < snapshot->thread_count && threads[place].number == number && threads[place].name[0] != '\0';
    return named ? first + place : 0;
}

static void
put_samples(struct writer *writer, const struct hew_snapshot *snapshot)
{
    static const struct hew_prof_totals none;
    uint64_t first = writer->string_count;
    for (size_t i = 0; i < snapshot->thread_count; i++) {
        put_string(writer, snapshot->threads[i].name, strlen(snapshot->threads[i].name));
    }
    for (size_t i = 0; i < snapshot->stack_count; i++) {
        const struct hew_snapshot_stack *stack = &snapshot->stacks[i];
        struct hew_prof_totals past = stack->ever; /* minus the counters' totals: allocations of ended threads */
        for (unsigned j = 0; j < stack->counter_count; j++) {
            const struct hew_snapshot_counter *counter = &stack->counters[j];
            put_counts(writer, stack, &counter->live, &counter->ever);
            put_label(writer, THREAD, 0, counter->thread);
            uint64_t name = name_of(snapshot, first, counter->thread);
            if (name != 0) {
                put_label(writer, THREAD_NAME, name, 0);
            }
            put_message(writer, PROFILE_SAMPLE);
            hew_weight_subtract(&past, &counter->ever);
        }
        if (hew_options.prof_accum && past.objects != 0) {
            put_counts(writer, stack, &none, &past);
            put_message(writer, PROFILE_SAMPLE);
        }
    }
}

bool
hew_pprof_write(struct hew_sink *sink, const struct hew_snapshot *snapshot)
{
    size_t bytes = sizeof(struct writer) + frames_in(snapshot) * sizeof(uintptr_t);
    bytes = hew_system_pages(bytes);
    struct writer *writer = hew_os_map(bytes, HEW_PAGE);
    if (writer == NULL) {
        return false;
    }
    writer->message = (struct hew_protobuf){writer->message_bytes, 0, sizeof writer->message_bytes};
    hew_gzip_begin(&writer->gzip, sink);
    put_head(writer, snapshot->interval);
    hew_mappings_each(put_mapping, writer);
    collect_addresses(writer, snapshot);
    put_locations(writer);
    put_samples(writer, snapshot);
    hew_gzip_end(&writer->gzip);
    hew_os_unmap(writer, bytes);
    return true;
}
