/* SPDX-License-Identifier: MIT */
#include "pool/shape.h"

#include "meta/memory.h"
#include "os/cpus.h"
#include "os/process.h"
#include "pool/grow.h"
#include "pool/object.h"
#include "pool/range.h"

#include <errno.h>
#include <limits.h>

#define ALIGNMENT_MAX ((size_t)2 << 20)
#define BYTES_MAX ((size_t)1 << (HEW_LG_ADDRESS - 1)) /* more does not fit the address space */
#define AT_HAND_MOST 128
#define AT_HAND_BYTES ((size_t)64 << 10)
#define AT_HAND_PART 8 /* divisor if all objects are in the fixed group; half of it otherwise */
#define RELEASE_MS 10000

static size_t
unit_of(const struct hew_pool_set *set)
{
    return set->options.alignment;
}

static bool
source_can_be(const struct hew_pool_options *options)
{
    const struct hew_pool_source *source = options->source;
    const struct hew_pool_backing *backing = options->backing;
    const struct hew_pool_fallback *fallback = options->fallback;
    return (source == NULL || (source->take != NULL && source->give != NULL)) &&
           (backing == NULL ||
            (backing->begin != NULL && backing->take != NULL && backing->give != NULL && backing->end != NULL)) &&
           (fallback == NULL || (fallback->take != NULL && fallback->owns != NULL && fallback->give != NULL &&
                                 fallback->usable_size != NULL));
}

/* The program's structs may not exist any more after hew_pool_create() returns. */
static void
copy_functions(struct hew_pool_set *set)
{
    struct hew_pool_options *options = &set->options;
    if (options->source != NULL) {
        set->source = *options->source;
        options->source = &set->source;
    }
    if (options->backing != NULL) {
        set->backing = *options->backing;
        options->backing = &set->backing;
    }
    if (options->fallback != NULL) {
        set->fallback = *options->fallback;
        options->fallback = &set->fallback;
    }
}

int
hew_pool_shape_options(struct hew_pool_set *set, const struct hew_pool_options *given)
{
    struct hew_pool_options *options = &set->options;
    if (given != NULL) {
        *options = *given;
    }
    options->alignment = options->alignment < HEW_POOL_UNIT && hew_bits_is_power_of_two(options->alignment | 16)
                             ? HEW_POOL_UNIT
                             : options->alignment;
    options->release_ms = options->release_ms == 0 ? RELEASE_MS : options->release_ms;
    bool can_be = hew_bits_is_power_of_two(options->alignment) && options->alignment <= ALIGNMENT_MAX &&
                  options->beyond <= HEW_POOL_BEYOND_NULL && options->check <= HEW_POOL_CHECK_WRITES &&
                  options->lookup <= HEW_POOL_LOOKUP_DOUBLING &&
                  (options->kinds != NULL || options->kinds_count == 0) && source_can_be(options);
    copy_functions(set);
    return can_be ? 0 : EINVAL;
}

/* 0: the size or the count is invalid. */
static size_t
stride_of(const struct hew_pool_set *set, const struct hew_pool_size *size)
{
    size_t stride = size->size > BYTES_MAX ? 0 : hew_bits_round_up(size->size, unit_of(set));
    return stride == 0 || size->count > BYTES_MAX / stride ? 0 : stride;
}

/* Position of a stride among the first `count` classes, or where to insert it. */
static unsigned
place_of(const struct hew_pool_set *set, unsigned count, size_t stride)
{
    unsigned place = 0;
    while (place < count && set->classes[place].stride < stride) {
        place++;
    }
    return place;
}

static bool
add_size(struct hew_pool_set *set, const struct hew_pool_size *size)
{
    size_t stride = stride_of(set, size);
    unsigned place = place_of(set, set->count, stride);
    bool known = place < set->count && set->classes[place].stride == stride;
    if (stride == 0 || (!known && set->count == HEW_POOL_SIZES_MAX)) {
        return false;
    }
    for (unsigned i = set->count; !known && i > place; i--) {
        set->classes[i].stride = set->classes[i - 1].stride;
        set->classes[i].declared = set->classes[i - 1].declared;
    }
    struct hew_pool_class *class = &set->classes[place];
    class->declared = (known ? class->declared : 0) + size->count;
    class->stride = stride;
    set->count += known ? 0 : 1;
    return class->declared >= size->count && class->declared <= BYTES_MAX / stride;
}

static unsigned
at_hand_of(const struct hew_pool_set *set, const struct hew_pool_class *class)
{
    size_t most = set->options.at_hand, bytes = AT_HAND_BYTES / class->stride;
    size_t part = class->declared / (set->options.fixed_only ? AT_HAND_PART : AT_HAND_PART / 2);
    if (most == SIZE_MAX || set->options.check != HEW_POOL_CHECK_NOTHING) {
        return 0;
    }
    if (most != 0) {
        return most < UINT16_MAX ? (unsigned)most : UINT16_MAX;
    }
    most = bytes < AT_HAND_MOST ? bytes : AT_HAND_MOST;
    most = class->declared != 0 && part < most ? part : most;
    return most == 0 ? 1 : (unsigned)most;
}

static int
add_kinds(struct hew_pool_set *set)
{
    set->plain = set->options.kinds_count == 0;
    for (size_t i = 0; i < set->options.kinds_count; i++) {
        const struct hew_pool_kind *kind = &set->options.kinds[i];
        struct hew_pool_size size = {kind->size, 0};
        size_t stride = stride_of(set, &size);
        unsigned place = place_of(set, set->count, stride);
        if (stride == 0 || place == set->count || set->classes[place].stride != stride) {
            return EINVAL;
        }
        set->classes[place].kind = *kind;
    }
    return 0;
}

int
hew_pool_shape_sizes(struct hew_pool_set *set, const struct hew_pool_size *sizes, size_t count)
{
    set->classes = hew_meta_take(HEW_POOL_SIZES_MAX * sizeof *set->classes);
    if (set->classes == NULL) {
        return ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (!add_size(set, &sizes[i])) {
            return EINVAL;
        }
    }
    for (unsigned number = 0; number < set->count; number++) {
        set->classes[number].at_hand = at_hand_of(set, &set->classes[number]);
    }
    return set->count == 0 ? EINVAL : add_kinds(set);
}

static size_t
group_bytes(const struct hew_pool_set *set, const struct hew_pool_class *class)
{
    size_t unit = unit_of(set) > HEW_GRAIN ? unit_of(set) : HEW_GRAIN;
    return hew_bits_round_up(class->declared * class->stride, unit);
}

/* False: no memory. */
static bool
make_lookup(struct hew_pool_set *set)
{
    enum hew_pool_lookup_method method = set->options.lookup;
    set->strides = hew_meta_take(set->count * sizeof *set->strides);
    for (unsigned number = 0; set->strides != NULL && number < set->count; number++) {
        set->strides[number] = set->classes[number].stride;
    }
    if (set->strides == NULL) {
        return false;
    }
    set->lookup_bytes = hew_pool_lookup_room(set->strides, set->count, method);
    set->lookup_room = set->lookup_bytes == 0 ? NULL : hew_meta_take(set->lookup_bytes);
    return hew_pool_lookup_prepare(&set->lookup, set->strides, set->count, method, set->lookup_room,
                                   set->lookup_bytes) == 0;
}

/* Fills in the size index of each granule of the fixed groups, and where each group begins. */
static bool
make_grains(struct hew_pool_set *set, size_t bytes)
{
    set->fixed = hew_pool_range_take(set, bytes, NULL);
    uint8_t *grains = set->fixed == NULL ? NULL : hew_meta_take(bytes >> HEW_LG_GRAIN);
    uintptr_t address = set->fixed == NULL ? 0 : set->fixed->address, base = address;
    for (unsigned number = 0; grains != NULL && number < set->count; number++) {
        struct hew_pool_class *class = &set->classes[number];
        class->fixed->address = address;
        for (size_t end = address + group_bytes(set, class); address < end; address += HEW_GRAIN) {
            grains[(address - base) >> HEW_LG_GRAIN] = (uint8_t)number;
        }
    }
    set->grains = grains;
    set->grains_bytes = bytes >> HEW_LG_GRAIN;
    set->base = base;
    set->span = grains == NULL ? 0 : bytes;
    set->bytes = bytes;
    return grains != NULL;
}

/* Frees all objects of a fixed group. */
static bool
stock(struct hew_pool_set *set, struct hew_pool_class *class)
{
    struct hew_pool_block *block = class->fixed;
    const struct hew_pool_backing *backing = set->options.backing;
    atomic_store_explicit(&class->capacity, block->count, memory_order_relaxed);
    atomic_store_explicit(&block->free, block->count, memory_order_relaxed);
    if (block->count == 0 || backing == NULL) {
        hew_pool_block_give_all(block);
        return true;
    }
    block->store = backing->begin(backing->context, block->stride, block->count);
    for (size_t number = 0; block->store != NULL && number < block->count; number++) {
        void *object = (void *)(block->address + number * block->stride);
        backing->give(block->store, &object, 1);
    }
    return block->store != NULL;
}

static void
touch(const struct hew_pool_set *set)
{
    for (uintptr_t page = set->base; page < set->base + set->span; page += HEW_PAGE) {
        *(volatile char *)page = 0;
    }
}

/* Total bytes of the fixed groups; stops at a sum that is too large. */
static size_t
bytes_of_groups(const struct hew_pool_set *set)
{
    size_t bytes = 0;
    for (unsigned number = 0; bytes <= BYTES_MAX && number < set->count; number++) {
        bytes += group_bytes(set, &set->classes[number]);
    }
    return bytes;
}

/* False: no memory. */
static bool
make_group(struct hew_pool_set *set, unsigned number)
{
    struct hew_pool_class *class = &set->classes[number];
    class->fixed = hew_pool_grow_block(set, number, class->declared);
    if (class->fixed == NULL) {
        return false;
    }
    class->fixed->fixed = class->fixed->there = true;
    return true;
}

/* Checks the total size before anything is created.  Some machines map more than they have and then kill the process
 * when it uses the memory.  For a caller's source only hew's bit for each object counts. */
static int
fault_of(const struct hew_pool_set *set, size_t bytes)
{
    size_t ours = set->options.source == NULL ? bytes : bytes / (HEW_POOL_UNIT * CHAR_BIT);
    if (bytes > BYTES_MAX) {
        return EINVAL;
    }
    bool within = set->options.most_bytes == 0 || bytes <= set->options.most_bytes;
    return within && ours <= hew_os_machine_memory() ? 0 : ENOMEM;
}

int
hew_pool_shape_groups(struct hew_pool_set *set)
{
    size_t bytes = bytes_of_groups(set);
    int fault = fault_of(set, bytes);
    if (fault != 0) {
        return fault;
    }
    set->processors = hew_cpus_usable();
    for (unsigned number = 0; number < set->count; number++) {
        if (!make_group(set, number)) {
            return ENOMEM;
        }
    }
    if (!make_lookup(set) || (bytes != 0 && !make_grains(set, bytes))) {
        return ENOMEM;
    }
    for (unsigned number = 0; number < set->count; number++) {
        if (!stock(set, &set->classes[number])) {
            return ENOMEM;
        }
    }
    if (set->options.touch) {
        touch(set);
    }
    bool mallocs = set->options.fallback == NULL && unit_of(set) == HEW_POOL_UNIT;
    set->malloc_from = mallocs ? set->strides[set->count - 1] + 1 : 0;
    return 0;
}

static void
end_class(struct hew_pool_set *set, struct hew_pool_class *class)
{
    struct hew_pool_block *block = atomic_load_explicit(&class->first, memory_order_relaxed);
    if (class->fixed != NULL) {
        if (class->fixed->store != NULL) {
            set->backing.end(class->fixed->store);
        }
        hew_pool_grow_drop_block(set, class->fixed);
    }
    while (block != NULL) {
        struct hew_pool_block *next = atomic_load_explicit(&block->next, memory_order_relaxed);
        if (block->range != NULL) {
            hew_pool_range_give(set, block->range);
        }
        hew_pool_grow_drop_block(set, block);
        block = next;
    }
}

void
hew_pool_shape_end(struct hew_pool_set *set)
{
    for (unsigned number = 0; number < set->count; number++) {
        end_class(set, &set->classes[number]);
    }
    if (set->fixed != NULL) {
        hew_pool_range_give(set, set->fixed);
    }
    if (set->grains != NULL) {
        hew_meta_give((void *)set->grains, set->grains_bytes);
    }
    if (set->lookup_room != NULL) {
        hew_meta_give(set->lookup_room, set->lookup_bytes);
    }
    if (set->strides != NULL) {
        hew_meta_give(set->strides, set->count * sizeof *set->strides);
    }
    if (set->classes != NULL) {
        hew_meta_give(set->classes, HEW_POOL_SIZES_MAX * sizeof *set->classes);
    }
}
