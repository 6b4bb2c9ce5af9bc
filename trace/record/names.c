/* SPDX-License-Identifier: MIT */
/* names: see names.h.  A hash table that is read without a lock; a thread that adds an entry holds the try-lock
 * `adding`. */
#include "record/names.h"

#include "base/text.h"
#include "format/crc.h"
#include "format/writer.h"
#include "os/syscall.h"
#include "record/file.h"

#include <string.h>
#include <sys/mman.h>

#define LG_SLOTS 17
#define SLOTS (1u << LG_SLOTS)
#define ROOM ((size_t)32 << 10)
#define LINE_BYTES 1200

struct hew_trace_names {
    uint64_t generation;
    uint32_t adding; /* a thread is adding an entry */
    uint32_t count;
    uint64_t hashes[SLOTS]; /* 0: free; written after the entry's number */
    uint32_t numbers[SLOTS];
    struct hew_trace_block *block;
    size_t used; /* bytes of its text */
};

static struct hew_trace_names *
names_here(void)
{
    struct hew_trace_names *names = __atomic_load_n(&hew_trace_shared.names, __ATOMIC_ACQUIRE), *none = NULL;
    long mapped;

    if (names != NULL) {
        return names;
    }
    mapped = hew_syscall6(SYS_mmap, 0, (long)sizeof(*names), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped < 0) {
        return NULL;
    }
    names = (struct hew_trace_names *)mapped;
    names->generation = hew_trace_shared.generation;
    if (__atomic_compare_exchange_n(&hew_trace_shared.names, &none, names, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return names;
    }
    hew_syscall2(SYS_munmap, names, sizeof(*names));
    return none;
}

static uint64_t
hash_of(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 32;
    return hash == 0 ? 1 : hash;
}

/* The slot with the hash, or a free one for it; SLOTS: none. */
static uint32_t
find(const struct hew_trace_names *names, uint64_t hash)
{
    uint32_t slot = (uint32_t)(hash & (SLOTS - 1));

    for (unsigned i = 0; i < 64; i++, slot = (slot + 1) & (SLOTS - 1)) {
        uint64_t found = __atomic_load_n(&names->hashes[slot], __ATOMIC_ACQUIRE);
        if (found == hash || found == 0) {
            return slot;
        }
    }
    return SLOTS;
}

/* Makes space for a line; false: the file has none. */
static bool
make_room(struct hew_trace_names *names, size_t length)
{
    if (names->block != NULL && names->used + length < ROOM - sizeof(*names->block)) {
        return true;
    }
    if (names->block != NULL) {
        names->block->length = names->block->stored = (uint32_t)names->used;
        names->block->checksum = hew_trace_crc(names->block + 1, names->used);
        hew_trace_seal(names->block);
        hew_trace_leave_room(names->block, ROOM);
    }
    names->block = hew_trace_take_room(ROOM, names->generation);
    names->used = 0;
    if (names->block == NULL) {
        return false;
    }
    *names->block = (struct hew_trace_block){
        .magic = HEW_TRACE_BLOCK_MAGIC, .kind = HEW_TRACE_NAMES, .state = HEW_TRACE_OPEN, .room = ROOM};
    return true;
}

static void
add(struct hew_trace_names *names, uint64_t hash, const char *line, size_t length)
{
    char number[24];
    struct hew_text text;
    uint32_t slot = find(names, hash);
    uint8_t *to;

    if (slot == SLOTS || names->hashes[slot] == hash || names->count >= SLOTS / 2) {
        return;
    }
    hew_text_begin(&text, number, sizeof(number));
    hew_text_put_unsigned(&text, names->count + 1);
    hew_text_put(&text, "\t");
    if (!make_room(names, text.length + length)) {
        return;
    }
    to = (uint8_t *)(names->block + 1) + names->used;
    memcpy(to, number, text.length);
    memcpy(to + text.length, line, length);
    names->used += text.length + length;
    names->numbers[slot] = ++names->count;
    __atomic_store_n(&names->hashes[slot], hash, __ATOMIC_RELEASE);
}

uint64_t
hew_trace_name(const char *function, const char *file, int line)
{
    struct hew_trace_names *names = names_here();
    char bytes[LINE_BYTES];
    struct hew_text text;
    uint64_t hash;
    uint32_t slot;

    if (names == NULL) {
        return 0;
    }
    hew_text_begin(&text, bytes, sizeof(bytes));
    hew_text_put_unsigned(&text, line < 0 ? 0 : (uint64_t)line);
    hew_text_put(&text, "\t");
    hew_text_put(&text, function);
    hew_text_put(&text, "\t");
    hew_text_put(&text, file);
    hew_text_put(&text, "\n");
    hash = hash_of(bytes, text.length);
    slot = find(names, hash);
    if (slot != SLOTS && __atomic_load_n(&names->hashes[slot], __ATOMIC_ACQUIRE) != hash) {
        while (__atomic_exchange_n(&names->adding, 1, __ATOMIC_ACQUIRE) != 0) {
            hew_syscall1(SYS_sched_yield, 0);
        }
        add(names, hash, bytes, text.length);
        __atomic_store_n(&names->adding, 0, __ATOMIC_RELEASE);
        slot = find(names, hash);
    }
    return slot == SLOTS || __atomic_load_n(&names->hashes[slot], __ATOMIC_ACQUIRE) != hash
               ? 0
               : HEW_TRACE_NAMED | names->numbers[slot];
}
