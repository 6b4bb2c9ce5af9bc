/* SPDX-License-Identifier: MIT */
/*
 * memory: keeps freed pieces per CPU once threads have waited for the lock of all pieces.
 *
 * Arrays of magazines, rings of per-CPU caches and bits of slabs come and go for as long as a program's threads run,
 * some once in a thousand mallocs.  That is too rare to matter on a few CPUs, and often enough to keep one lock busy on
 * many (docs/scaling.md).  A program whose threads never wait there has no such lists, and uses none of their memory.
 */
#include "meta/memory.h"

#include "meta/piece.h"
#include "os/cpus.h"

#include <stdatomic.h>
#include <string.h>

#define LISTS 64u                       /* with more CPUs, some share a list */
#define AT_ONCE_BYTES ((size_t)2 << 10) /* a list's batch, or one piece; it holds twice as much */

/* The free pieces of one CPU. */
struct list_of_cpu {
    struct hew_mutex lock; /* guards the fields below */
    size_t bytes;
    struct hew_piece *pieces[HEW_CODE_SMALL_LAST + 1];
    uint8_t counts[HEW_CODE_SMALL_LAST + 1];
} HEW_ALIGNED(2 * HEW_CACHE_LINE); /* processors fetch lines by pairs */

static struct list_of_cpu lists[LISTS];
_Atomic bool hew_meta_crowded;

static size_t
rounded(size_t size)
{
    size_t lines = hew_bits_round_up(size, HEW_CACHE_LINE);
    return lines <= HEW_PIECE_MAX ? hew_class_size(hew_class_index(lines)) : hew_system_pages(size);
}

static bool
has_lists(size_t bytes)
{
    return HEW_UNLIKELY(atomic_load_explicit(&hew_meta_crowded, memory_order_acquire)) && bytes <= HEW_SMALL_MAX;
}

/* Gives each CPU its lists, once.  A thread that sees this late takes the common lock once more. */
static HEW_COLD void
begin_lists(void)
{
    static _Atomic bool begun;
    if (!atomic_exchange_explicit(&begun, true, memory_order_relaxed)) {
        for (unsigned index = 0; index < LISTS; index++) {
            HEW_MUTEX_PLACE(&lists[index].lock, meta_of_cpu, index);
        }
        atomic_store_explicit(&hew_meta_crowded, true,
                              memory_order_release); /* pairs with the acquire of has_lists() */
    }
}

static struct list_of_cpu *
lock_list(void)
{
    unsigned index = hew_cpus_current() % LISTS;
    hew_mutex_lock(&lists[index].lock);
    return &lists[index];
}

static unsigned
at_once(size_t bytes)
{
    return bytes >= AT_ONCE_BYTES ? 1 : (unsigned)(AT_ONCE_BYTES / bytes);
}

/* NULL: neither the CPU's list nor the common one has a piece. */
static HEW_COLD void *
take_listed(size_t bytes)
{
    unsigned code = hew_usual_code(bytes);
    struct list_of_cpu *list = lock_list();
    if (list->counts[code] == 0) {
        unsigned count = hew_piece_take_free(code, at_once(bytes), &list->pieces[code]);
        list->counts[code] = (uint8_t)count;
        list->bytes += count * bytes;
    }
    struct hew_piece *piece = list->pieces[code];
    if (piece != NULL) {
        list->pieces[code] = piece->next;
        list->counts[code]--;
        list->bytes -= bytes;
    }
    HEW_ASSERT(1, (list->pieces[code] == NULL) == (list->counts[code] == 0));
    hew_mutex_unlock(&list->lock);
    return piece;
}

/* List lock held.  Moves the older half of a full list to the common one, where every CPU finds it. */
static void
give_half(struct list_of_cpu *list, unsigned code, size_t bytes)
{
    struct hew_piece *last_kept = list->pieces[code], *last;
    for (unsigned kept = 1; kept < at_once(bytes); kept++) {
        last_kept = last_kept->next;
    }
    unsigned count = list->counts[code] - at_once(bytes);
    for (last = last_kept->next; last->next != NULL;) {
        last = last->next;
    }
    hew_piece_give(last_kept->next, last, count, code);
    last_kept->next = NULL;
    list->counts[code] = (uint8_t)at_once(bytes);
    list->bytes -= count * bytes;
}

static HEW_COLD void
give_listed(struct hew_piece *piece, size_t bytes)
{
    unsigned code = hew_usual_code(bytes);
    struct list_of_cpu *list = lock_list();
    HEW_ASSERT(1, list->pieces[code] != piece);
    piece->next = list->pieces[code];
    list->pieces[code] = piece;
    list->bytes += bytes;
    if (++list->counts[code] > 2 * at_once(bytes)) {
        give_half(list, code, bytes);
    }
    hew_mutex_unlock(&list->lock);
}

/* The first `*dirty` bytes are not zero. */
static void *
meta_take(size_t bytes, size_t *dirty)
{
    void *piece = has_lists(bytes) ? take_listed(bytes) : NULL;
    *dirty = bytes;
    return piece != NULL ? piece : hew_piece_take(bytes, dirty);
}

void *
hew_meta_take(size_t size)
{
    size_t dirty;
    void *piece = meta_take(rounded(size), &dirty);
    return dirty != 0 ? memset(piece, 0, dirty) : piece;
}

void *
hew_meta_take_raw(size_t size)
{
    size_t dirty;
    return meta_take(rounded(size), &dirty);
}

void
hew_meta_give(void *piece, size_t size)
{
    size_t bytes = rounded(size);
    HEW_ASSERT(1, size != 0 && piece != NULL);
    if (bytes > HEW_PIECE_MAX) {
        hew_piece_give_whole(piece, bytes);
    } else if (has_lists(bytes)) {
        give_listed(piece, bytes);
    } else if (HEW_UNLIKELY(hew_piece_give(piece, piece, 1, hew_usual_code(bytes)))) {
        begin_lists();
    }
}

struct hew_meta_usage
hew_meta_usage(void)
{
    size_t listed = 0;
    for (unsigned index = 0; index < LISTS && has_lists(0); index++) {
        hew_mutex_lock(&lists[index].lock);
        listed += lists[index].bytes;
        hew_mutex_unlock(&lists[index].lock);
    }
    struct hew_meta_usage usage = hew_piece_usage();
    usage.used -= listed;
    return usage;
}

void
hew_meta_each_mutex(void (*act)(struct hew_mutex *mutex))
{
    for (unsigned index = 0; index < LISTS && has_lists(0); index++) {
        act(&lists[index].lock);
    }
    act(&hew_meta_lock);
}
