/* SPDX-License-Identifier: MIT */
/*
 * size_class: maps a request's size to a class, and describes the classes.
 *
 * There are four *coarse* classes per doubling: 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320 ... (with
 * an 8-byte quantum the multiples of 8 up to 32 come first).  From 128 bytes to the last small class, a *fine* class
 * lies halfway below each coarse one: 144, 176, 208, 240, 288 ... A fine class is closed until its coarse class
 * owns much memory.  Until then the coarse class serves its sizes, so a program pays for another class only where it is
 * worth the cost.  If most requests of the coarse class were for one size below halfway, the fine class is cut to it
 * when it opens, for good: then it serves no larger size.
 *
 * A class's number in jemalloc's tables is its *index*.  Its *code*, index + 1, is the value in the address map.  So
 * code 0 means "not hew's".
 *
 *     code   0            none: NULL, foreign, or the inside of a large object
 *            1 .. 63      small classes, objects in slabs           (8 B .. 14 KiB, 3.5 pages)
 *            64 .. 100    cached large classes, one extent each     (16 KiB .. 8 MiB)
 *            104          guarded objects (guard/): always the slow path
 *            105          objects of pool sets (pool/): likewise
 *            106          any other extent: only the slow path knows more
 *
 * A program may define its own small classes (setting `classes`).  Then they have codes 1 .. hew_small_classes, and
 * none is fine.  The remaining codes up to 63 repeat the last class and serve no requests.  hew_class_index() and
 * hew_class_size() always refer to the usual classes, for large sizes and for hew's own memory.  Functions with `code`
 * in their name refer to the classes in use.
 *
 * Pure functions and tables.  After boot only hew_size_class_open() and hew_size_class_ask() write.
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
#define HEW_LG_GRAIN 14 /* one byte of the address map covers 2^14 bytes; slabs are whole granules */
#define HEW_GRAIN ((size_t)1 << HEW_LG_GRAIN)
#define HEW_GRAIN_PAGES (HEW_GRAIN / HEW_PAGE)
#define HEW_SYSTEM_PAGE_MAX ((size_t)64 << 10) /* the largest that x86-64 and aarch64 have */

#define HEW_SMALL_MAX ((size_t)14336)    /* 3.5 pages */
#define HEW_CACHED_MAX ((size_t)8 << 20) /* the largest class that a thread cache can be set to hold */
#define HEW_CODES 107
#define HEW_CODE_NONE 0
#define HEW_CODE_SLOW (HEW_CODES - 1)
#define HEW_CODE_POOL (HEW_CODES - 2)
#define HEW_CODE_GUARD (HEW_CODES - 3)
#define HEW_SIZE_MAX ((size_t)PTRDIFF_MAX)

/* The index of the first class above 4 quanta, less 1: the start of the regular groups of four. */
#define HEW_CLASS_REGULAR (HEW_LG_QUANTUM == 4 ? 5u : 4u)

/* From 2^HEW_LG_FINE bytes to HEW_SMALL_MAX there are eight classes per doubling, alternately fine and coarse. */
#define HEW_LG_FINE 7
#define HEW_CLASS_FINE (HEW_CLASS_REGULAR + (HEW_LG_FINE - HEW_LG_QUANTUM - 2) * 4u) /* the first fine class */
#define HEW_CLASSES_FINE ((13 - HEW_LG_FINE) * 4u + 3u)

/* Returns the index of the smallest usual class, open or not, that holds a request.  `size` is from 0 to HEW_SIZE_MAX.
 * A size of 0 is treated as 1. */
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

/* Returns the code of that class while the usual classes are in use; for a large size always. */
HEW_INLINE unsigned
hew_usual_code(size_t size)
{
    return hew_class_index(size) + 1;
}

/* Returns the index for a size above HEW_SMALL_MAX, where all classes are coarse. */
HEW_INLINE unsigned
hew_class_index_large(size_t size)
{
    unsigned top = hew_bits_floor_log2(size - 1);
    return HEW_CLASS_REGULAR + HEW_CLASSES_FINE + (top - (HEW_LG_QUANTUM + 2)) * 4 +
           (unsigned)(((size - 1) >> (top - 2)) & 3);
}

/* Returns the largest request that usual class `index` holds. */
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

/* Returns the class size for a request above HEW_SMALL_MAX bytes. */
HEW_INLINE size_t
hew_class_round_large(size_t size)
{
    unsigned shift = hew_bits_floor_log2(size - 1) - 2;
    return (((size - 1) >> shift) + 1) << shift;
}

/* Returns true if a usual class is fine. */
HEW_INLINE bool
hew_usual_is_fine(unsigned code)
{
    unsigned number = code - 1 - HEW_CLASS_FINE;
    return number < 2 * HEW_CLASSES_FINE && number % 2 == 0;
}

/* The codes of the last small class and of the last cached class. */
#define HEW_CODE_SMALL_LAST (HEW_LG_QUANTUM == 4 ? 63u : 66u)
#define HEW_CODE_CACHED_LAST (HEW_LG_QUANTUM == 4 ? 100u : 103u)

/* The number of classes above the small ones, up to 7 * 2^60 bytes, as in jemalloc's tables. */
#define HEW_CLASSES_LARGE 196u

/* The shape of a small class's slabs.  A cached large class has only size and reciprocal. */
struct hew_slab_shape {
    uint32_t size;       /* bytes per region */
    uint32_t regions;    /* regions per slab */
    uint32_t pages;      /* pages per slab, whole granules */
    uint32_t bytes;      /* bytes of all regions; the slab tail follows */
    uint64_t reciprocal; /* ceil(2^64 / size): offset * reciprocal >> 64 is the region's number */
};

extern HEW_HIDDEN struct hew_slab_shape hew_slab_shapes[HEW_CODES];

/* Bytes of a page of the running system: a power of two from HEW_PAGE to HEW_SYSTEM_PAGE_MAX.  Every extent, every slab
 * and every range in a system call is a multiple of it.  HEW_PAGE stays the unit of the maps and of jemalloc's statistics.
 * Fixed when boot begins. */
extern HEW_HIDDEN size_t hew_system_page;

/* Returns `size` rounded up to pages of the system. */
HEW_INLINE size_t
hew_system_pages(size_t size)
{
    return hew_bits_round_up(size, hew_system_page);
}

/* The number of small classes in use: their codes are 1 to this, each class larger than the one before.  Fixed once the
 * settings are read. */
extern HEW_HIDDEN unsigned hew_small_classes;

/* True if the program defined these classes.  Also fixed once the settings are read. */
extern HEW_HIDDEN bool hew_classes_are_own;

/* The first request size that is not small; 0 until boot, so that every earlier request leaves the fast path.
 * hew_boot() writes it with release.  The three functions below read it with acquire, because their thread may have
 * received nothing yet from the booting thread.  A thread that holds an object has received everything with it, and
 * reads it plainly. */
extern HEW_HIDDEN size_t hew_small_end;

/* The first size that hew_large_codes does not contain; published in the same way. */
extern HEW_HIDDEN size_t hew_large_end;

/* The first size that is not small for a request with an alignment, which the class of the next multiple serves;
 * published in the same way.  It stays 0 if the program defines its own classes, because that class may have a smaller
 * alignment. */
extern HEW_HIDDEN size_t hew_aligned_end;

HEW_INLINE bool
hew_is_booted(void)
{
    bool booted = HEW_READ_PUBLISHED(hew_small_end) != 0;
    hew_published();
    return booted;
}

/* False before boot, for every size. */
HEW_INLINE bool
hew_size_is_small(size_t size)
{
    if (HEW_LIKELY(size < HEW_READ_PUBLISHED(hew_small_end))) {
        hew_published();
        return true;
    }
    return false;
}

/* Like hew_size_is_small(), for a size that is a multiple of the requested alignment. */
HEW_INLINE bool
hew_size_is_small_aligned(size_t size)
{
    if (HEW_LIKELY(size < HEW_READ_PUBLISHED(hew_aligned_end))) {
        hew_published();
        return true;
    }
    return false;
}

/* True for a size that is not small and is in hew_large_codes.  False before boot. */
HEW_INLINE bool
hew_size_is_coded_large(size_t size)
{
    if (size > HEW_SMALL_MAX && size < HEW_READ_PUBLISHED(hew_large_end)) {
        hew_published();
        return true;
    }
    return false;
}

/* Request size -> code of the open class for 0 .. HEW_SMALL_MAX, indexed by (size + 7) / 8.  A thread that still sees a
 * class as closed gets the larger one.  One that sees it open sees the shape that was stored before: by release, and by
 * the address of the shape, which depends on the byte. */
extern HEW_HIDDEN uint8_t hew_small_codes[HEW_SMALL_MAX / 8 + 1];

/* Request size -> code from HEW_SMALL_MAX to 256 KiB, where every class is whole pages of the system.  Indexed by HEW_PAGE,
 * rounded up.  Boot writes it where the system's pages are larger. */
#define HEW_LARGE_CODES_MAX ((size_t)256 << 10)
extern HEW_HIDDEN uint8_t hew_large_codes[HEW_LARGE_CODES_MAX / HEW_PAGE + 1];

/* Returns the code of the class that serves a request of up to HEW_SMALL_MAX bytes. */
HEW_INLINE uint8_t
hew_small_code(size_t size)
{
    return HEW_READ_BYTE(hew_small_codes[(size + 7) >> 3]);
}

/* Returns the code for a larger request of up to HEW_LARGE_CODES_MAX bytes. */
HEW_INLINE uint8_t
hew_paged_code(size_t size)
{
    return hew_large_codes[(size + HEW_PAGE - 1) >> HEW_LG_PAGE];
}

/* Returns the code for a request of any size. */
HEW_INLINE unsigned
hew_code_for(size_t size)
{
    return size <= HEW_SMALL_MAX ? hew_small_code(size) : hew_usual_code(size);
}

/* Returns true if a class is closed at first, so that the next class serves its sizes. */
HEW_INLINE bool
hew_code_is_fine(unsigned code)
{
    return hew_usual_is_fine(code) && !hew_classes_are_own;
}

/* Returns the code of the smallest class, open or not, that holds a request. */
HEW_INLINE unsigned
hew_code_of_size(size_t size)
{
    return HEW_UNLIKELY(hew_classes_are_own) ? hew_code_for(size) : hew_usual_code(size);
}

/* Returns the object size of a cached class, from boot on. */
HEW_INLINE size_t
hew_code_size(unsigned code)
{
    return hew_slab_shapes[code].size;
}

/* A request of `size` bytes in small class `code` has left the fast path: it votes for a size to cut the fine class below
 * to.  Any thread may call it. */
void hew_size_class_ask(unsigned code, size_t size);

/* Opens the fine class below small class `code`, if there is one, cut to the size that most requests voted for.  Any
 * thread may call it. */
void hew_size_class_open(unsigned code);

/* Computes the shapes.  Called once, at boot, before any other thread exists. */
void hew_size_class_boot(void);

/* Called next, before settings that name classes are applied.  Sets the small classes to `count` sizes: ascending, from
 * 8 or 16 bytes to HEW_SMALL_MAX, multiples of the quantum except for 8.  `count` is 1 to HEW_CODE_SMALL_LAST. */
void hew_size_class_set_own(const uint16_t *sizes, unsigned count);

/* Called next, before the first slab exists.  Classes of `low` to `high` bytes get slabs of `pages` pages, rounded up
 * to whole granules. */
void hew_size_class_set_slabs(size_t low, size_t high, size_t pages);

#endif
