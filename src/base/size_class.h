/* SPDX-License-Identifier: MIT */
/*
 * size_class: how a request's size becomes a class, and what a class holds.
 *
 * Four *coarse* classes per doubling: 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320 ...  (with an 8-byte
 * quantum the multiples of 8 up to 32 come first).  From 128 bytes to the last small one a *fine* class lies halfway below
 * each: 144, 176, 208, 240, 288 ...  A fine class is closed until its coarse one has become large; until then the coarse
 * one serves its sizes, so that a program pays for a class in use only where it is worth it.
 *
 * A class's number in jemalloc's tables is its index; its *code*, index + 1, is what the address map stores, so that code
 * 0 means "nothing of ours".
 *
 *     code   0            none: NULL, foreign, or the inside of a large object
 *            1 .. 63      small classes, objects in slabs           (8 B .. 14 KiB, 3.5 pages)
 *            64 .. 100    cached large classes, one extent each     (16 KiB .. 8 MiB)
 *            105          objects of pool sets (pool/): always the slow path
 *            106          any other extent: only the slow path knows more
 *
 * A program may bring small classes of its own (setting `classes`): then codes 1 .. hew_small_classes are those, none is fine,
 * and the codes behind them up to 63 repeat the last one and serve nobody.  hew_class_index() and hew_class_size() always
 * speak of the usual classes, for large sizes and for hew's own memory; what has `code` in its name, of those in force.
 *
 * Pure functions and tables; what opens a class is the only writer after boot.
 */
#ifndef HEW_BASE_SIZE_CLASS_H
#define HEW_BASE_SIZE_CLASS_H

#include "base/bits.h"

#ifndef HEW_LG_QUANTUM
#define HEW_LG_QUANTUM 4
#endif
#define HEW_QUANTUM ((size_t)1 << HEW_LG_QUANTUM)
#define HEW_LG_PAGE 12
#define HEW_PAGE ((size_t)1 << HEW_LG_PAGE)
#define HEW_LG_GRAIN 14 /* one byte of the address map covers 2^14 bytes; slabs are whole grains */
#define HEW_GRAIN ((size_t)1 << HEW_LG_GRAIN)
#define HEW_GRAIN_PAGES (HEW_GRAIN / HEW_PAGE)

#define HEW_SMALL_MAX ((size_t)14336)    /* 3.5 pages */
#define HEW_CACHED_MAX ((size_t)8 << 20) /* the largest class that a thread cache can be told to keep */
#define HEW_CODES 107
#define HEW_CODE_NONE 0
#define HEW_CODE_SLOW (HEW_CODES - 1)
#define HEW_CODE_POOL (HEW_CODES - 2)
#define HEW_SIZE_MAX ((size_t)PTRDIFF_MAX)

/* The number of the first class above 4 quanta, less 1: where the regular groups of four begin. */
#define HEW_CLASS_REGULAR (HEW_LG_QUANTUM == 4 ? 5u : 4u)

/* From 2^HEW_LG_FINE bytes to HEW_SMALL_MAX there are eight classes a doubling, fine and coarse ones in turn. */
#define HEW_LG_FINE 7
#define HEW_CLASS_FINE (HEW_CLASS_REGULAR + (HEW_LG_FINE - HEW_LG_QUANTUM - 2) * 4u) /* the first fine one */
#define HEW_CLASSES_FINE ((13 - HEW_LG_FINE) * 4u + 3u)

/* The index of the smallest usual class, open or not, that holds a request; `size` from 0 to HEW_SIZE_MAX.  Size 0 is
 * treated as 1. */
HEW_INLINE unsigned
hew_class_index(size_t size)
{
    if (size <= 4 * HEW_QUANTUM) {
        if (HEW_LG_QUANTUM == 4) {
            return size <= 8 ? 0 : (unsigned)((size + HEW_QUANTUM - 1) >> HEW_LG_QUANTUM);
        }
        return size <= 8 ? 0 : (unsigned)((size - 1) >> HEW_LG_QUANTUM);
    }
    unsigned top = hew_bits_floor_log2(size - 1);
    unsigned before = HEW_CLASS_REGULAR + (top - (HEW_LG_QUANTUM + 2)) * 4;
    if (top >= HEW_LG_FINE && size <= HEW_SMALL_MAX) {
        return before + (top - HEW_LG_FINE) * 4 + (unsigned)(((size - 1) >> (top - 3)) & 7);
    }
    return before + (top < HEW_LG_FINE ? 0 : HEW_CLASSES_FINE) + (unsigned)(((size - 1) >> (top - 2)) & 3);
}

/* Its code, as long as the usual classes are in force; for a large size always. */
HEW_INLINE unsigned
hew_usual_code(size_t size)
{
    return hew_class_index(size) + 1;
}

/* The index for a size above HEW_SMALL_MAX: there all classes are coarse. */
HEW_INLINE unsigned
hew_class_index_large(size_t size)
{
    unsigned top = hew_bits_floor_log2(size - 1);
    return HEW_CLASS_REGULAR + HEW_CLASSES_FINE + (top - (HEW_LG_QUANTUM + 2)) * 4 +
           (unsigned)(((size - 1) >> (top - 2)) & 3);
}

/* The largest request that usual class `index` holds. */
HEW_INLINE size_t
hew_class_size(unsigned index)
{
    if (index < HEW_CLASS_REGULAR) {
        if (HEW_LG_QUANTUM == 4) {
            return index == 0 ? 8 : (size_t)index << HEW_LG_QUANTUM;
        }
        return (size_t)(index + 1) << HEW_LG_QUANTUM;
    }
    if (index >= HEW_CLASS_FINE + 2 * HEW_CLASSES_FINE) {
        index -= HEW_CLASSES_FINE;
    } else if (index >= HEW_CLASS_FINE) {
        unsigned number = index - HEW_CLASS_FINE;
        return (size_t)(number % 8 + 9) << (number / 8 + HEW_LG_FINE - 3);
    }
    unsigned group = (index - HEW_CLASS_REGULAR) / 4, step = (index - HEW_CLASS_REGULAR) % 4;
    /* NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): no class lies below the regular ones here */
    return (size_t)(step + 5) << (group + HEW_LG_QUANTUM);
}

/* The size of the class of a request above HEW_SMALL_MAX bytes. */
HEW_INLINE size_t
hew_class_round_large(size_t size)
{
    unsigned shift = hew_bits_floor_log2(size - 1) - 2;
    return (((size - 1) >> shift) + 1) << shift;
}

/* Whether a usual class is a fine one. */
HEW_INLINE bool
hew_usual_is_fine(unsigned code)
{
    unsigned number = code - 1 - HEW_CLASS_FINE;
    return number < 2 * HEW_CLASSES_FINE && number % 2 == 0;
}

/* Code of the last small class and of the last cached class. */
#define HEW_CODE_SMALL_LAST (HEW_LG_QUANTUM == 4 ? 63u : 66u)
#define HEW_CODE_CACHED_LAST (HEW_LG_QUANTUM == 4 ? 100u : 103u)

/* Classes above the small ones, up to 7 * 2^60 bytes: what jemalloc's tables go through. */
#define HEW_CLASSES_LARGE 196u

/* What a small class's slabs look like.  A cached large class has size and reciprocal only. */
struct hew_slab_shape {
    uint32_t size;       /* bytes a region */
    uint32_t regions;    /* regions a slab */
    uint32_t pages;      /* pages a slab, whole grains */
    uint32_t bytes;      /* of all regions; the tail follows */
    uint64_t reciprocal; /* ceil(2^64 / size): offset * reciprocal >> 64 is the region's number */
};

extern HEW_HIDDEN struct hew_slab_shape hew_slab_shapes[HEW_CODES];

/* Small classes in force: codes 1 to that, each larger than the one before.  Fixed once settings are read. */
extern HEW_HIDDEN unsigned hew_small_classes;

/* Whether these are the program's own; likewise. */
extern HEW_HIDDEN bool hew_classes_are_own;

/* The first request size that is not small; 0 until boot, so that every request before it leaves the fast path.  Written with
 * release by hew_boot(); read with acquire, by the three functions below, where the reader may be a thread that has nothing
 * yet from the one that booted.  Whoever has an object has been handed everything with it, and just reads. */
extern HEW_HIDDEN size_t hew_small_end;

/* Likewise the first that hew_large_codes does not hold. */
extern HEW_HIDDEN size_t hew_large_end;

/* Likewise the first that is not small for a request at an alignment, which the class of the next multiple serves: 0 for ever where
 * classes are the program's own, since that class may be aligned to less. */
extern HEW_HIDDEN size_t hew_aligned_end;

HEW_INLINE bool
hew_is_booted(void)
{
    bool booted = HEW_READ_PUBLISHED(hew_small_end) != 0;
    hew_published();
    return booted;
}

/* False for every size before boot. */
HEW_INLINE bool
hew_size_is_small(size_t size)
{
    if (HEW_LIKELY(size < HEW_READ_PUBLISHED(hew_small_end))) {
        hew_published();
        return true;
    }
    return false;
}

/* The same for a size that is a multiple of the alignment asked for. */
HEW_INLINE bool
hew_size_is_small_aligned(size_t size)
{
    if (HEW_LIKELY(size < HEW_READ_PUBLISHED(hew_aligned_end))) {
        hew_published();
        return true;
    }
    return false;
}

/* Not small, and in hew_large_codes; likewise. */
HEW_INLINE bool
hew_size_is_coded_large(size_t size)
{
    if (size > HEW_SMALL_MAX && size < HEW_READ_PUBLISHED(hew_large_end)) {
        hew_published();
        return true;
    }
    return false;
}

/* Request size -> code of the open class for 0 .. HEW_SMALL_MAX, indexed by (size + 7) / 8.  Relaxed: whoever still sees
 * a class closed gets the larger one. */
extern HEW_HIDDEN uint8_t hew_small_codes[HEW_SMALL_MAX / 8 + 1];

/* Request size -> code from HEW_SMALL_MAX to 256 KiB, where every class is whole pages; indexed by pages, rounded up. */
#define HEW_LARGE_CODES_MAX ((size_t)256 << 10)
extern HEW_HIDDEN const uint8_t hew_large_codes[HEW_LARGE_CODES_MAX / HEW_PAGE + 1];

/* The code of the class that serves a request of up to HEW_SMALL_MAX bytes. */
HEW_INLINE uint8_t
hew_small_code(size_t size)
{
    return HEW_READ_BYTE(hew_small_codes[(size + 7) >> 3]);
}

/* Likewise of a larger one of up to HEW_LARGE_CODES_MAX bytes. */
HEW_INLINE uint8_t
hew_paged_code(size_t size)
{
    return hew_large_codes[(size + HEW_PAGE - 1) >> HEW_LG_PAGE];
}

/* The same for any size. */
HEW_INLINE unsigned
hew_code_for(size_t size)
{
    return size <= HEW_SMALL_MAX ? hew_small_code(size) : hew_usual_code(size);
}

/* Whether a class is closed at first, so that requests of its sizes go to the next one. */
HEW_INLINE bool
hew_code_is_fine(unsigned code)
{
    return hew_usual_is_fine(code) && !hew_classes_are_own;
}

/* The code of the smallest class, open or not, that holds a request. */
HEW_INLINE unsigned
hew_code_of_size(size_t size)
{
    return HEW_UNLIKELY(hew_classes_are_own) ? hew_code_for(size) : hew_usual_code(size);
}

/* Bytes an object of a cached class, from boot on. */
HEW_INLINE size_t
hew_code_size(unsigned code)
{
    return hew_slab_shapes[code].size;
}

/* Opens the fine class below small class `code`, if there is one.  By any thread. */
void hew_size_class_open(unsigned code);

/* Computes the shapes; once, at boot, before any other thread. */
void hew_size_class_boot(void);

/* Then, before settings that speak of classes: the small classes are `count` of these sizes, ascending, from 8 or 16 bytes to
 * HEW_SMALL_MAX, multiples of the quantum but for 8; 1 to HEW_CODE_SMALL_LAST of them. */
void hew_size_class_set_own(const uint16_t *sizes, unsigned count);

/* Then, before the first slab: classes of `low` to `high` bytes get slabs of so many pages, rounded up to whole grains. */
void hew_size_class_set_slabs(size_t low, size_t high, size_t pages);

#endif
