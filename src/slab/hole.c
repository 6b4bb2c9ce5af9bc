/* SPDX-License-Identifier: MIT */
/* hole: maps pieces to the bits of the regions that overlap them, even in part. */
#include "slab/hole.h"

#include "os/fatal.h"

/* Regions from `first` on, up to `end`. */
struct span {
    unsigned first, end;
};

static struct span
span_of(const struct hew_slab_shape *shape, unsigned first_piece, unsigned end_piece)
{
    size_t start = first_piece * hew_hole_piece(shape), end = end_piece * hew_hole_piece(shape);
    unsigned last = (unsigned)((unsigned __int128)(end - 1) * shape->reciprocal >> 64) + 1;
    return (struct span){(unsigned)((unsigned __int128)start * shape->reciprocal >> 64),
                         last < shape->regions ? last : shape->regions};
}

/* Returns the bits of a span in its first word, and advances the span to the next one. */
static uint64_t
next_mask(struct span *span)
{
    unsigned in_word = span->first % 64, count = span->end - span->first;
    count = count < 64 - in_word ? count : 64 - in_word;
    span->first += count;
    return ~UINT64_C(0) >> (64 - count) << in_word;
}

static bool
span_is_free(const uint64_t *bits, struct span span)
{
    bool all = true;
    while (all && span.first < span.end) {
        const uint64_t *word = &bits[span.first / 64];
        uint64_t mask = next_mask(&span);
        all = (*word & mask) == mask;
    }
    return all;
}

static unsigned
pieces_of(const struct hew_slab_shape *shape)
{
    size_t piece = hew_hole_piece(shape);
    return (unsigned)((shape->bytes + piece - 1) / piece); /* a piece of only the tail is never touched */
}

static bool
piece_is_free(const struct hew_extent *slab, unsigned piece)
{
    return span_is_free(slab->slab.bits, span_of(hew_slab_shape(slab), piece, piece + 1));
}

uint32_t
hew_hole_idle(const struct hew_extent *slab)
{
    unsigned pieces = pieces_of(hew_slab_shape(slab));
    uint32_t idle = 0;
    for (unsigned piece = 0; piece < pieces; piece++) {
        bool absent = (slab->slab.absent >> piece & 1) != 0;
        idle |= (uint32_t)(!absent && piece_is_free(slab, piece)) << piece;
    }
    return idle;
}

/* Frees a word's regions again.  One that is free already is a double free: while its region was marked as taken, that
 * could not be detected. */
static void
free_word(const struct hew_extent *slab, unsigned word, uint64_t mask)
{
    uint64_t *bits = &slab->slab.bits[word], twice = *bits & mask;
    if (HEW_UNLIKELY(twice != 0)) {
        unsigned region = word * 64 + (unsigned)__builtin_ctzll(twice);
        uintptr_t address = slab->address + (uintptr_t)region * hew_slab_shape(slab)->size;
        hew_fatal(HEW_FATAL_double_free, "free", address,
                  "the object was free already, on a page about to be returned");
    }
    *bits |= mask;
}

static void
change_span(const struct hew_extent *slab, struct span span, bool to_free)
{
    while (span.first < span.end) {
        unsigned word = span.first / 64;
        uint64_t mask = next_mask(&span);
        if (to_free) {
            free_word(slab, word, mask);
        } else {
            HEW_ASSERT(1, (slab->slab.bits[word] & mask) == mask);
            slab->slab.bits[word] &= ~mask;
        }
    }
}

/* Makes all regions of `pieces` free, or taken; returns how many.  A region that two runs of pieces share changes
 * once. */
static unsigned
change(const struct hew_extent *slab, uint32_t pieces, bool to_free)
{
    const struct hew_slab_shape *shape = hew_slab_shape(slab);
    unsigned count = 0, done = 0;
    while (pieces != 0) {
        unsigned first = (unsigned)__builtin_ctz(pieces), end = hew_hole_run_end(pieces);
        struct span span = span_of(shape, first, end);
        span.first = span.first < done ? done : span.first;
        HEW_ASSERT(1, span.first <= span.end); /* later runs end later */
        count += span.end - span.first;
        done = span.end;
        change_span(slab, span, to_free);
        pieces = (uint32_t)((uint64_t)pieces >> end << end);
    }
    return count;
}

void
hew_hole_take_out(struct hew_extent *slab, uint32_t pieces)
{
    slab->slab.free_regions -= change(slab, pieces, false);
    HEW_ASSERT(2, hew_slab_valid(slab));
}

void
hew_hole_put_back(struct hew_extent *slab, uint32_t pieces)
{
    slab->slab.free_regions += change(slab, pieces, true);
    slab->slab.first_word = 0;
    HEW_ASSERT(2, hew_slab_valid(slab));
}

/* Returns the absent pieces that still have free regions only.  Regions allocated from the others get memory when they
 * are touched. */
static uint32_t
still_absent(const struct hew_extent *slab)
{
    uint32_t absent = slab->slab.absent;
    for (uint32_t left = absent; left != 0; left &= left - 1) {
        unsigned piece = (unsigned)__builtin_ctz(left);
        absent &= piece_is_free(slab, piece) ? UINT32_MAX : ~(UINT32_C(1) << piece);
    }
    return absent;
}

unsigned
hew_hole_take(struct hew_extent *slab, void **end, unsigned wanted)
{
    hew_hole_take_out(slab, slab->slab.absent);
    unsigned taken = slab->slab.free_regions == 0 ? 0 : hew_slab_take(slab, end, wanted);
    hew_hole_put_back(slab, slab->slab.absent);
    if (taken < wanted && slab->slab.free_regions != 0) {
        taken += hew_slab_take(slab, end - taken, wanted - taken);
        slab->slab.absent = still_absent(slab);
    }
    HEW_ASSERT(2, hew_hole_valid(slab));
    return taken;
}

bool
hew_hole_valid(const struct hew_extent *slab)
{
    unsigned pieces = pieces_of(hew_slab_shape(slab));
    return (uint64_t)slab->slab.absent >> pieces == 0 && still_absent(slab) == slab->slab.absent;
}
