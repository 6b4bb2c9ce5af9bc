/* SPDX-License-Identifier: MIT */
#include "prof/image.h"

#include "base/bits.h"
#include "base/size_class.h"
#include "os/object.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define HEADERS_MOST 64
#define NOTES_MOST 2048

/* Finds a build id among notes; returns its length, 0: none. */
static unsigned
find_build_id(const uint8_t *notes, size_t size, uint8_t *id, unsigned most)
{
    ElfW(Nhdr) note;
    for (size_t at = 0; at + sizeof note <= size;) {
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, content = name + hew_bits_round_up(note.n_namesz, 4);
        if (content > size || note.n_descsz > size - content) {
            return 0;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            unsigned bytes = note.n_descsz < most ? note.n_descsz : most;
            memcpy(id, notes + content, bytes);
            return bytes;
        }
        at = content + hew_bits_round_up(note.n_descsz, 4);
    }
    return 0;
}

/* The program headers of the ELF file mapped at `begin`.  Returns their number, 0: not an ELF file.  `base` is the load
 * address. */
static unsigned
read_headers(uintptr_t begin, ElfW(Phdr) * parts, uintptr_t *base)
{
    ElfW(Ehdr) head;
    if (!hew_os_peek(begin, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phnum > HEADERS_MOST || !hew_os_peek(begin + head.e_phoff, parts, head.e_phnum * sizeof parts[0])) {
        return 0;
    }
    uintptr_t first = UINTPTR_MAX;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        first = parts[i].p_type == PT_LOAD && parts[i].p_vaddr < first ? parts[i].p_vaddr : first;
    }
    *base = begin - first;
    return head.e_phnum;
}

unsigned
hew_image_build_id(uintptr_t begin, uint8_t *id, unsigned most)
{
    ElfW(Phdr) parts[HEADERS_MOST];
    uint8_t notes[NOTES_MOST];
    uintptr_t base;
    unsigned count = read_headers(begin, parts, &base);
    for (unsigned i = 0; i < count; i++) {
        size_t size = parts[i].p_memsz < NOTES_MOST ? parts[i].p_memsz : NOTES_MOST;
        if (parts[i].p_type != PT_NOTE || !hew_os_peek(base + parts[i].p_vaddr, notes, size)) {
            continue;
        }
        unsigned bytes = find_build_id(notes, size, id, most);
        if (bytes != 0) {
            return bytes;
        }
    }
    return 0;
}

bool
hew_image_code(uintptr_t begin, struct hew_image_code *code)
{
    ElfW(Phdr) parts[HEADERS_MOST];
    uintptr_t base;
    unsigned count = read_headers(begin, parts, &base);
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].p_type == PT_LOAD && (parts[i].p_flags & PF_X) != 0) {
            code->begin = (base + parts[i].p_vaddr) & ~((uintptr_t)HEW_PAGE - 1);
            code->end = hew_bits_round_up(base + parts[i].p_vaddr + parts[i].p_memsz, HEW_PAGE);
            code->offset = parts[i].p_offset & ~((uint64_t)HEW_PAGE - 1);
            return true;
        }
    }
    return false;
}
