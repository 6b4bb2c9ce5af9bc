/* SPDX-License-Identifier: MIT */
/* objects: see objects.h. */
#include "objects.h"

#include "kernel.h"
#include "machine.h"
#include "tested.h"

#include <string.h>
#include <sys/mman.h>

#define GRAIN 8            /* bytes a bit: what no object is smaller than */
#define WHOLE 2048         /* up to here every word is written and looked at */
#define STRIDE (4096 - 64) /* above, words that are this far apart */

#define BEGINNING 64              /* of these bytes every word */
#define ZEROS_LOOKED_AT 4         /* after the beginning, in runs that are not thorough */
#define MIDDLE ((size_t)64 << 10) /* above, not even each page is touched: a page costs more than all else */
#define FAR (16 * (size_t)STRIDE)

struct object objects[OBJECTS_MOST];
size_t objects_bytes;
uint64_t objects_checks;
bool objects_thorough;
static unsigned char *there;

void
objects_boot(void)
{
    there = mmap(NULL, KERNEL_BYTES / GRAIN / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (there == MAP_FAILED) {
        machine_finding("no address space for the model");
    }
}

/* The bits of [address, address + size) are all `from` and become the opposite. */
static bool
turn(uintptr_t address, size_t size, bool from)
{
    size_t at = (address - KERNEL_BASE) / GRAIN, end = at + size / GRAIN;
    bool right = true;
    for (; at < end && at % 8 != 0; at++) {
        right &= (there[at / 8] >> at % 8 & 1) == from;
        there[at / 8] ^= (unsigned char)(1 << at % 8);
    }
    unsigned char whole = from ? 0xff : 0, *first = &there[at / 8];
    size_t bytes = end > at ? (end - at) / 8 : 0;
    right &= bytes == 0 || (*first == whole && memcmp(first, first + 1, bytes - 1) == 0);
    memset(first, ~whole, bytes);
    for (at += bytes * 8; at < end; at++) {
        right &= (there[at / 8] >> at % 8 & 1) == from;
        there[at / 8] ^= (unsigned char)(1 << at % 8);
    }
    return right;
}

/* The n-th word of the pattern. */
static uint64_t
word_of(const struct object *object, size_t place)
{
    return object->pattern + place;
}

/* A word in the middle of a large object, which the pattern chooses. */
static size_t
sample_of(const struct object *object)
{
    return BEGINNING + machine_mix(object->pattern) % ((object->size - BEGINNING) / 8) * 8;
}

/* The place of the word after that one: all of a small object; of a large one its beginning, the last word, and between
 * them one, or in thorough runs one in each page. */
static size_t
next_place(const struct object *object, size_t place)
{
    size_t size = object->size, last = size - 8;
    if (size <= WHOLE || place < BEGINNING || place == last) {
        return place + 8;
    }
    if (objects_thorough) {
        size_t next = place + (size > MIDDLE ? FAR : STRIDE);
        return next + 8 <= last ? next : last;
    }
    size_t sample = sample_of(object);
    return place < sample && sample + 8 <= last ? sample : last;
}

static void
write_pattern(struct object *object)
{
    object->pattern = machine_random();
    size_t place = 0;
    for (; place + 8 <= object->size; place = next_place(object, place)) {
        uint64_t word = word_of(object, place);
        memcpy(object->address + place, &word, 8);
    }
    if (object->size < 8) {
        memcpy(object->address, &object->pattern, object->size);
    }
}

static void
check_up_to(const struct object *object, const unsigned char *address, size_t size)
{
    objects_checks++;
    for (size_t place = 0; place + 8 <= object->size && place + 8 <= size; place = next_place(object, place)) {
        uint64_t word;
        memcpy(&word, address + place, 8);
        if (word != word_of(object, place)) {
            machine_finding("contents: byte %zu of a %zu-byte object at %p has changed by itself (%#lx, not %#lx)",
                            place, object->size, (const void *)address, word, word_of(object, place));
        }
    }
    if (object->size < 8 && memcmp(address, &object->pattern, size < object->size ? size : object->size) != 0) {
        machine_finding("contents: a %zu-byte object at %p has changed by itself", object->size, (const void *)address);
    }
}

void
objects_check(const struct object *object)
{
    check_up_to(object, object->address, object->size);
}

void
objects_check_all(void)
{
    for (unsigned i = 0; i < OBJECTS_MOST; i++) {
        if (objects[i].address != NULL && !objects[i].busy) {
            objects_check(&objects[i]);
        }
    }
}

static void
check_zero(const unsigned char *address, size_t size)
{
    size_t step = size <= WHOLE ? 1 : size <= MIDDLE ? 509 : FAR;
    step = objects_thorough || size / step < ZEROS_LOOKED_AT || step == 1 ? step : size / ZEROS_LOOKED_AT;
    for (size_t i = 0; i < size; i += i < BEGINNING ? 1 : step) {
        if (address[i] != 0) {
            machine_finding("zero: byte %zu of %zu at %p is not zero", i, size, (const void *)address);
        }
    }
}

static void
settle(struct object *object, void *address, size_t size, size_t alignment)
{
    object->usable = tested_malloc_usable_size(address);
    object->address = address;
    object->size = size;
    uintptr_t at = (uintptr_t)address;
    if (at < KERNEL_BASE && at + object->usable > KERNEL_BASE) {
        machine_finding("place: %p is nowhere", address);
    }
    if (object->usable < size) {
        machine_finding("usable: %zu bytes were asked for, %zu may be used", size, object->usable);
    }
    if (at % alignment != 0) {
        machine_finding("alignment: %p for %zu bytes at %zu", address, size, alignment);
    }
    if (!turn(at, object->usable, false)) {
        machine_finding("overlap: the %zu-byte object at %p lies where another one is", size, address);
    }
    objects_bytes += object->pooled ? 0 : object->usable;
}

void
objects_born(struct object *object, void *address, size_t size, size_t alignment, bool zero)
{
    settle(object, address, size, alignment);
    if (zero) {
        check_zero(address, size);
    }
    write_pattern(object);
}

void
objects_leave(struct object *object)
{
    objects_bytes -= object->pooled ? 0 : object->usable;
    if (!turn((uintptr_t)object->address, object->usable, true)) {
        machine_finding("model: the object at %p was not there", (void *)object->address);
    }
}

void
objects_return(struct object *object)
{
    objects_check(object);
    settle(object, object->address, object->size, 1);
}

void
objects_resized(struct object *object, void *address, size_t size, size_t kept, bool zero)
{
    size_t before = object->usable;
    check_up_to(object, address, kept);
    settle(object, address, size, 8);
    if (zero && object->usable > before) {
        check_zero((unsigned char *)address + before, object->usable - before);
    }
    write_pattern(object);
}
