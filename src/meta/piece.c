/* SPDX-License-Identifier: MIT */
/*
 * piece: a bump pointer, and lists of freed pieces by size, under one lock.  The goal is to hold little memory, not
 * speed.
 */
#include "meta/piece.h"

#include "meta/space.h"
#include "os/memory.h"

/* Below 2 MiB, so that transparent huge pages never make a small program's metadata resident at once. */
#define CHUNK ((size_t)1 << 20)
#define FIRST_CHUNK ((size_t)96 << 10)

#define CROWD 8  /* waits for hew_meta_lock that show contention */
#define LOOKS 16 /* free pieces that check level 2 examines */

/* A free piece of more than HEW_PIECE_MAX bytes, in its first bytes: such pieces are whole pages, in their own list. */
struct whole {
    struct whole *next;
    size_t size;
    bool zeroed; /* except these bytes */
};

struct hew_mutex hew_meta_lock = HEW_MUTEX(meta);

/* All guarded by hew_meta_lock. */
static struct hew_piece *free_pieces[HEW_CODES];
static char first_chunk[FIRST_CHUNK] HEW_ALIGNED(HEW_PAGE);
static struct whole *free_wholes;
static char *chunk_at = first_chunk;
static size_t chunk_left = FIRST_CHUNK;
static size_t bytes_mapped = FIRST_CHUNK;
static size_t bytes_touched;
static size_t bytes_used;

/* Lock held.  Advances the chunk to the start of a page. */
static void
begin_page(void)
{
    size_t lost = (size_t)-(uintptr_t)chunk_at % hew_system_page;
    lost = lost < chunk_left ? lost : chunk_left;
    chunk_at += lost;
    chunk_left -= lost;
}

static void *
meta_carve(size_t bytes)
{
    if (bytes > HEW_PIECE_MAX) {
        begin_page();
    }
    if (bytes > CHUNK / 4 && bytes > chunk_left) {
        void *own = hew_space_open(hew_system_pages(bytes));
        bytes_mapped += own == NULL ? 0 : bytes;
        bytes_touched += own == NULL ? 0 : bytes;
        return own;
    }
    if (bytes > chunk_left) {
        size_t size = CHUNK;
        char *chunk = hew_space_open(size);
        while (chunk == NULL && size / 2 >= bytes && size > hew_system_page) { /* address space may be short */
            size /= 2;
            chunk = hew_space_open(size);
        }
        if (chunk == NULL) {
            return NULL;
        }
        bytes_mapped += size;
        chunk_at = chunk;
        chunk_left = size;
    }
    void *piece = chunk_at;
    chunk_at += bytes;
    chunk_left -= bytes;
    bytes_touched += bytes;
    return piece;
}

/* Lock held.  Returns whether the piece is one of the next few to be allocated. */
static bool
is_free_piece(const struct hew_piece *piece, unsigned code)
{
    const struct hew_piece *free = free_pieces[code];
    for (unsigned look = 0; free != NULL && free != piece && look < LOOKS; look++) {
        free = free->next;
    }
    return free == piece;
}

/* Lock held.  Checks that the next few pieces to be allocated have possible addresses. */
static bool
pieces_valid(unsigned code)
{
    const struct hew_piece *free = free_pieces[code];
    for (unsigned look = 0; free != NULL && look < LOOKS; look++, free = free->next) {
        if ((uintptr_t)free % HEW_CACHE_LINE != 0 || (uintptr_t)free >> HEW_LG_ADDRESS != 0) {
            return false;
        }
    }
    return true;
}

/* Lock held.  Returns the link to the smallest free piece of whole pages that is large enough, or NULL. */
static struct whole **
best_whole(size_t bytes)
{
    struct whole **best = NULL;
    for (struct whole **link = &free_wholes, *whole; (whole = *link) != NULL; link = &whole->next) {
        if (whole->size >= bytes && (best == NULL || whole->size < (*best)->size)) {
            best = link;
        }
        if (whole->size == bytes) {
            break;
        }
    }
    return best;
}

/* Lock held.  Takes the front of a free piece of whole pages; the rest of it stays free.  The first `*dirty` bytes are
 * not zero. */
static void *
take_whole(size_t bytes, size_t *dirty)
{
    struct whole **link = best_whole(bytes);
    if (link == NULL) {
        return NULL;
    }
    struct whole *whole = *link;
    struct whole *rest = whole->size == bytes ? whole->next : (struct whole *)((char *)whole + bytes);
    if (rest != whole->next) {
        *rest = (struct whole){whole->next, whole->size - bytes, whole->zeroed};
    }
    *link = rest;
    *dirty = whole->zeroed ? sizeof *whole : bytes;
    bytes_touched += whole->zeroed ? bytes : 0;
    return whole;
}

/* Lock held. */
static void *
take_piece(size_t bytes, size_t *dirty)
{
    unsigned code = hew_usual_code(bytes);
    struct hew_piece *piece = free_pieces[code];
    if (piece != NULL) {
        free_pieces[code] = piece->next;
        HEW_ASSERT(1, free_pieces[code] != piece);
        *dirty = bytes;
    }
    return piece;
}

void *
hew_piece_take(size_t bytes, size_t *dirty)
{
    *dirty = 0;
    hew_mutex_lock(&hew_meta_lock);
    void *piece = bytes <= HEW_PIECE_MAX ? take_piece(bytes, dirty) : take_whole(bytes, dirty);
    piece = piece != NULL ? piece : meta_carve(bytes);
    bytes_used += piece == NULL ? 0 : bytes;
    HEW_ASSERT(1,
               (uintptr_t)piece % HEW_CACHE_LINE == 0 && bytes_used <= bytes_touched && bytes_touched <= bytes_mapped);
    HEW_ASSERT(2, bytes > HEW_PIECE_MAX || pieces_valid(hew_usual_code(bytes)));
    hew_mutex_unlock(&hew_meta_lock);
    return piece;
}

void *
hew_piece_take_pages(size_t size)
{
    hew_mutex_lock(&hew_meta_lock);
    void *pages = hew_space_open(size);
    hew_mutex_unlock(&hew_meta_lock);
    return pages;
}

unsigned
hew_piece_take_free(unsigned code, unsigned wanted, struct hew_piece **list)
{
    hew_mutex_lock(&hew_meta_lock);
    struct hew_piece **end = &free_pieces[code];
    unsigned count = 0;
    for (; *end != NULL && count < wanted; count++) {
        end = &(*end)->next;
    }
    struct hew_piece *rest = *end;
    *end = *list;
    *list = free_pieces[code];
    free_pieces[code] = rest;
    bytes_used += count * hew_class_size(code - 1);
    hew_mutex_unlock(&hew_meta_lock);
    return count;
}

void
hew_piece_give_whole(void *pointer, size_t bytes)
{
    struct whole *whole = pointer;
    bool zeroed = hew_os_purge(whole, bytes); /* refused for memory that the program has locked */
    hew_mutex_lock(&hew_meta_lock);
    *whole = (struct whole){free_wholes, bytes, zeroed};
    free_wholes = whole;
    bytes_touched -= zeroed ? bytes : 0;
    bytes_used -= bytes;
    hew_mutex_unlock(&hew_meta_lock);
}

bool
hew_piece_give(struct hew_piece *first, struct hew_piece *last, unsigned count, unsigned code)
{
    size_t bytes = count * hew_class_size(code - 1);
    hew_mutex_lock(&hew_meta_lock);
    HEW_ASSERT(1, first != NULL && (uintptr_t)first % HEW_CACHE_LINE == 0 && bytes_used >= bytes);
    HEW_ASSERT(2, !is_free_piece(first, code) && !is_free_piece(last, code));
    last->next = free_pieces[code];
    free_pieces[code] = first;
    bytes_used -= bytes;
    bool crowded = hew_meta_lock.waits + hew_meta_lock.spin_acquisitions >= CROWD;
    hew_mutex_unlock(&hew_meta_lock);
    return crowded;
}

void
hew_piece_narrow(void)
{
    hew_mutex_lock(&hew_meta_lock);
    hew_space_narrow();
    hew_mutex_unlock(&hew_meta_lock);
}

struct hew_meta_usage
hew_piece_usage(void)
{
    hew_mutex_lock(&hew_meta_lock);
    struct hew_meta_usage usage = {bytes_mapped, bytes_touched, bytes_used};
    hew_mutex_unlock(&hew_meta_lock);
    return usage;
}
