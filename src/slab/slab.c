/* SPDX-License-Identifier: MIT */
/*
 * slab: the bits.  They lie outside the slab, in its extent's struct where they fit, so that allocating or freeing a
 * region does not touch its memory.
 */
#include "slab/slab.h"

#include "meta/memory.h"
#include "page/heap.h"
#include "slab/mark.h"

static unsigned
words_of(const struct hew_extent *extent)
{
    return (hew_slab_shape(extent)->regions + 63) / 64;
}

static size_t
bit_bytes_of(const struct hew_extent *extent)
{
    return words_of(extent) * sizeof *extent->slab.bits;
}

/* Bytes for the marks: whole words, before the bits. */
static size_t
mark_bytes_of(const struct hew_extent *extent)
{
    return hew_bits_round_up(hew_slab_shape(extent)->regions + 1, sizeof *extent->slab.bits);
}

static HEW_COLD HEW_NOINLINE uint64_t *
take_marks_and_bits(struct hew_extent *extent)
{
    size_t marks = mark_bytes_of(extent);
    uint8_t *memory = hew_meta_take(marks + bit_bytes_of(extent));
    if (memory == NULL) {
        return NULL;
    }
    extent->marks.reciprocal = hew_slab_shape(extent)->reciprocal;
    extent->marks.first = memory;
    return (uint64_t *)(memory + marks);
}

/* Memory for the bits, and for the marks with them.  NULL: there is none. */
static HEW_NOINLINE uint64_t *
take_bits(struct hew_extent *extent)
{
    return hew_marks_wanted() ? take_marks_and_bits(extent) : hew_meta_take(bit_bytes_of(extent));
}

static HEW_NOINLINE void
give_bits(struct hew_extent *extent)
{
    size_t marks = hew_marks_wanted() ? mark_bytes_of(extent) : 0;
    hew_meta_give((char *)extent->slab.bits - marks, marks + bit_bytes_of(extent));
}

bool
hew_slab_begin(struct hew_extent *extent)
{
    unsigned words = words_of(extent), regions = hew_slab_shape(extent)->regions;
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && extent->code != HEW_CODE_NONE &&
                      extent->code <= HEW_CODE_SMALL_LAST);
    HEW_ASSERT(1, extent->size >= regions * (size_t)hew_slab_shape(extent)->size);
    bool small = words <= HEW_EXTENT_WORDS && !hew_marks_wanted();
    uint64_t *bits = small ? extent->inline_bits : take_bits(extent);
    if (bits == NULL) {
        return false;
    }
    for (unsigned word = 0; word < words; word++) {
        bits[word] = ~UINT64_C(0);
    }
    if (regions % 64 != 0) {
        bits[words - 1] = (UINT64_C(1) << regions % 64) - 1;
    }
    extent->slab.bits = bits;
    extent->slab.free_regions = regions;
    extent->slab.first_word = 0;
    extent->slab.queued = false;
    extent->slab.reserved = false;
    extent->slab.seen = 0;
    extent->slab.absent = 0;
    return true;
}

struct hew_extent *
hew_slab_make(const struct hew_page_client *pages, unsigned code)
{
    size_t size = (size_t)hew_slab_shapes[code].pages * HEW_PAGE;
    struct hew_extent *slab = hew_page_take(pages->heap, size, HEW_GRAIN, code);
    if (slab != NULL && !hew_slab_begin(slab)) {
        hew_page_give(pages->heap, slab);
        return NULL;
    }
    if (slab != NULL) {
        slab->arena = pages->arena;
    }
    return slab;
}

void
hew_slab_end(struct hew_extent *extent)
{
    if (extent->slab.bits != extent->inline_bits) {
        give_bits(extent);
    }
}

/* Takes up to `most` regions of one word of bits, which is not 0; returns the new end. */
static void **
take_of_word(uint64_t *word, char *start, size_t size, void **end, unsigned most)
{
    uint64_t bits = *word, lowest = bits & -bits;
    unsigned first = (unsigned)__builtin_ctzll(bits);
    char *region = start + first * size;
    if (((bits + lowest) & bits) == 0) {  /* take adjacent regions at once: in a new slab all are */
        uint64_t gone = ~(bits >> first); /* 0: all 64 */
        unsigned run = gone == 0 ? 64 : (unsigned)__builtin_ctzll(gone);
        run = run < most ? run : most;
        *word = bits & ~((~UINT64_C(0) >> (64 - run)) << first);
        for (void **last = end - run; end > last; region += size) {
            *--end = region;
        }
        return end;
    }
    for (void **last = end - most;;) {
        *--end = region;
        bits &= bits - 1;
        if (bits == 0 || end == last) {
            break;
        }
        region = start + (unsigned)__builtin_ctzll(bits) * size;
    }
    *word = bits;
    return end;
}

unsigned
hew_slab_take(struct hew_extent *extent, void **end, unsigned wanted)
{
    size_t size = hew_slab_shape(extent)->size;
    HEW_ASSERT(1, extent->state == HEW_EXTENT_ACTIVE && extent->slab.free_regions <= hew_slab_shape(extent)->regions);
    unsigned most = extent->slab.free_regions < wanted ? extent->slab.free_regions : wanted;
    void **last = end - most;
    uint64_t *bits = extent->slab.bits;
    unsigned word = extent->slab.first_word;
    for (; end > last; word++) {
        HEW_ASSERT(1, word < words_of(extent));
        extent->slab.first_word = word; /* no free region is in a lower word */
        if (bits[word] != 0) {
            char *start = (char *)extent->address + (size_t)word * 64 * size;
            end = take_of_word(&bits[word], start, size, end, (unsigned)(end - last));
        }
    }
    extent->slab.free_regions -= most;
    HEW_ASSERT(2, hew_slab_valid(extent));
    return most;
}

unsigned
hew_slab_region(const struct hew_extent *extent, uintptr_t address)
{
    HEW_ASSERT(1, address >= extent->address && address < hew_extent_end(extent));
    return (unsigned)((unsigned __int128)(address - extent->address) * hew_slab_shape(extent)->reciprocal >> 64);
}

bool
hew_slab_is_taken(const struct hew_extent *extent, unsigned region)
{
    return (extent->slab.bits[region / 64] >> region % 64 & 1) == 0;
}

HEW_COLD void
hew_slab_forget_contents(struct hew_extent *extent)
{
    unsigned regions = hew_slab_shape(extent)->regions;
    for (unsigned region = 0; region < regions; region++) {
        if (!hew_slab_is_taken(extent, region)) {
            *hew_mark_of(extent, region) = HEW_MARK_NEW;
        }
    }
}

bool
hew_slab_valid(const struct hew_extent *extent)
{
    unsigned count = 0;
    for (unsigned word = 0; word < words_of(extent); word++) {
        count += hew_bits_count(extent->slab.bits[word]);
        if (word < extent->slab.first_word && extent->slab.bits[word] != 0) {
            return false;
        }
    }
    return count == extent->slab.free_regions && count <= hew_slab_shape(extent)->regions;
}
