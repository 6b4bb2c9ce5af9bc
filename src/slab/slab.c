/* SPDX-License-Identifier: MIT */
#include "slab/slab.h"

#include "meta/memory.h"

static unsigned
words_of(const struct hew_extent *extent)
{
    return (hew_slab_shape(extent)->regions + 63) / 64;
}

bool
hew_slab_begin(struct hew_extent *extent)
{
    unsigned words = words_of(extent), regions = hew_slab_shape(extent)->regions;
    uint64_t *bits = words <= HEW_EXTENT_WORDS ? extent->inline_bits : hew_meta_take(words * sizeof *bits);
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
    return true;
}

void
hew_slab_end(struct hew_extent *extent)
{
    if (extent->slab.bits != extent->inline_bits) {
        hew_meta_give(extent->slab.bits, words_of(extent) * sizeof *extent->slab.bits);
    }
}

unsigned
hew_slab_take(struct hew_extent *extent, void **regions, unsigned wanted)
{
    size_t size = hew_slab_shape(extent)->size;
    unsigned taken = 0, most = extent->slab.free_regions < wanted ? extent->slab.free_regions : wanted;
    for (unsigned word = extent->slab.first_word; taken < most; word++) {
        uint64_t bits = extent->slab.bits[word];
        char *start = (char *)extent->address + (size_t)word * 64 * size;
        extent->slab.first_word = word; /* no free region is in a lower word */
        while (bits != 0 && taken < most) {
            regions[taken++] = start + (size_t)__builtin_ctzll(bits) * size;
            bits &= bits - 1;
        }
        extent->slab.bits[word] = bits;
    }
    extent->slab.free_regions -= taken;
    return taken;
}

unsigned
hew_slab_region(const struct hew_extent *extent, uintptr_t address)
{
    return (unsigned)((address - extent->address) * (uint64_t)hew_slab_shape(extent)->reciprocal >> 32);
}

bool
hew_slab_is_taken(const struct hew_extent *extent, unsigned region)
{
    return (extent->slab.bits[region / 64] >> region % 64 & 1) == 0;
}

bool
hew_slab_valid(const struct hew_extent *extent)
{
    unsigned count = 0;
    for (unsigned word = 0; word < words_of(extent); word++) {
        count += (unsigned)__builtin_popcountll(extent->slab.bits[word]);
        if (word < extent->slab.first_word && extent->slab.bits[word] != 0) {
            return false;
        }
    }
    return count == extent->slab.free_regions && count <= hew_slab_shape(extent)->regions;
}
