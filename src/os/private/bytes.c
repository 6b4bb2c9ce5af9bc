/* SPDX-License-Identifier: MIT */
/*
 * bytes: libc's memory and string functions, only for the two finished libraries: hidden in libhew.so, local in
 * libhew.a.
 *
 * Why       hew calls most of them under a lock or in the middle of a change, and compilers add calls of their own.  A
 *           preloaded library may replace libc's functions with versions that allocate.
 * Promises  The behaviour of libc's functions.  For large program objects: base/bytes.h.
 * Not here  Unit tests and sanitized builds, which use libc's functions.
 */
#include "base/compiler.h"

typedef uint16_t bytes2 __attribute__((aligned(1), may_alias));
typedef uint32_t bytes4 __attribute__((aligned(1), may_alias));
typedef uint64_t bytes8 __attribute__((aligned(1), may_alias));
typedef uint64_t bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
struct bytes64 {
    bytes16 part[4];
};

#define MANY 2048 /* from this size on x86's string instructions are as fast */

void *memmove(void *to, const void *from, size_t size);
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *one, const void *other, size_t size);
void *memchr(const void *bytes, int byte, size_t size);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t most);
int strcmp(const char *one, const char *other);
int strncmp(const char *one, const char *other, size_t most);
char *strchr(const char *text, int byte);
char *strrchr(const char *text, int byte);
char *strstr(const char *text, const char *part);
size_t strcspn(const char *text, const char *ends);
char *strcpy(char *to, const char *from);
/* The variants that -D_FORTIFY_SOURCE calls. */
void *__memmove_chk(void *to, const void *from, size_t size, size_t room);
void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memset_chk(void *to, int byte, size_t size, size_t room);
char *__strcpy_chk(char *to, const char *from, size_t room);

/* Loads the first and the last bytes before it stores either.  The two may overlap, and so may source and target. */
#define MOVE_ENDS(type)                                                                                                \
    do {                                                                                                               \
        type first = *(const type *)source, last = *(const type *)(source + size - sizeof(type));                      \
        *(type *)target = first;                                                                                       \
        *(type *)(target + size - sizeof(type)) = last;                                                                \
    } while (0)

HEW_INLINE struct bytes64
load64(const char *at)
{
    const bytes16 *parts = (const bytes16 *)at;
    return (struct bytes64){{parts[0], parts[1], parts[2], parts[3]}};
}

HEW_INLINE void
store64(char *at, struct bytes64 value)
{
    bytes16 *parts = (bytes16 *)at;
    parts[0] = value.part[0];
    parts[1] = value.part[1];
    parts[2] = value.part[2];
    parts[3] = value.part[3];
}

HEW_INLINE void
move_few(char *target, const char *source, size_t size)
{
    if (size >= 8) {
        MOVE_ENDS(bytes8);
    } else if (size >= 4) {
        MOVE_ENDS(bytes4);
    } else if (size >= 2) {
        MOVE_ENDS(bytes2);
    } else if (size == 1) {
        *target = *source;
    }
}

/* Moves more than 64 bytes, front to back.  `target` is below `source`, or does not overlap it. */
HEW_INLINE void
move_up(char *target, const char *source, size_t size)
{
    struct bytes64 last = load64(source + size - 64);
    size_t done = 0;
#if defined(__x86_64__)
    if (size >= MANY && (uintptr_t)source - (uintptr_t)target >= 64) {
        char *to = target;
        const char *from = source;
        size_t words = (size - 1) / 8;
        __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
        done = size;
    }
#endif
    for (; done + 64 < size; done += 64) {
        store64(target + done, load64(source + done));
    }
    store64(target + size - 64, last);
}

/* Moves more than 64 bytes, back to front. */
HEW_INLINE void
move_down(char *target, const char *source, size_t size)
{
    struct bytes64 first = load64(source);
    for (size_t left = size; left > 64; left -= 64) {
        store64(target + left - 64, load64(source + left - 64));
    }
    store64(target, first);
}

void *
memmove(void *to, const void *from, size_t size)
{
    char *target = to;
    const char *source = from;
    if (size < 16) {
        move_few(target, source, size);
    } else if (size <= 32) {
        MOVE_ENDS(bytes16);
    } else if (size <= 64) {
        const char *end = source + size - 32;
        bytes16 parts[4] = {*(const bytes16 *)source, *(const bytes16 *)(source + 16), *(const bytes16 *)end,
                            *(const bytes16 *)(end + 16)};
        *(bytes16 *)target = parts[0];
        *(bytes16 *)(target + 16) = parts[1];
        *(bytes16 *)(target + size - 32) = parts[2];
        *(bytes16 *)(target + size - 16) = parts[3];
    } else if ((uintptr_t)target - (uintptr_t)source >= size) {
        move_up(target, source, size);
    } else {
        move_down(target, source, size);
    }
    return to;
}

void *
memcpy(void *to, const void *from, size_t size)
{
    return memmove(to, from, size);
}

#define SET_ENDS(type, value)                                                                                          \
    do {                                                                                                               \
        *(type *)target = (value);                                                                                     \
        *(type *)(target + size - sizeof(type)) = (value);                                                             \
    } while (0)

HEW_INLINE void
set_few(char *target, uint64_t word, size_t size)
{
    if (size >= 8) {
        SET_ENDS(bytes8, word);
    } else if (size >= 4) {
        SET_ENDS(bytes4, (uint32_t)word);
    } else if (size >= 2) {
        SET_ENDS(bytes2, (uint16_t)word);
    } else if (size == 1) {
        *target = (char)word;
    }
}

HEW_INLINE void
set_many(char *target, uint64_t word, size_t size)
{
    bytes16 pair = {word, word};
    struct bytes64 value = {{pair, pair, pair, pair}};
    size_t done = 0;
#if defined(__x86_64__)
    if (size >= MANY) {
        char *at = target;
        size_t words = size / 8;
        __asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(word) : "memory");
        done = size;
    }
#endif
    for (; done + 64 < size; done += 64) {
        store64(target + done, value);
    }
    store64(target + size - 64, value);
}

void *
memset(void *to, int byte, size_t size)
{
    char *target = to;
    uint64_t word = (uint64_t)(unsigned char)byte * UINT64_C(0x0101010101010101);
    if (size < 16) {
        set_few(target, word, size);
    } else if (size < 64) {
        bytes16 pair = {word, word};
        for (size_t done = 0; done + 16 < size; done += 16) {
            *(bytes16 *)(target + done) = pair;
        }
        *(bytes16 *)(target + size - 16) = pair;
    } else {
        set_many(target, word, size);
    }
    return to;
}

int
memcmp(const void *one, const void *other, size_t size)
{
    const unsigned char *left = one, *right = other;
    size_t at = 0;
    while (at + 8 <= size && *(const bytes8 *)(left + at) == *(const bytes8 *)(right + at)) {
        at += 8;
    }
    while (at < size && left[at] == right[at]) {
        at++;
    }
    return at == size ? 0 : left[at] - right[at];
}

void *
memchr(const void *bytes, int byte, size_t size)
{
    const unsigned char *at = bytes, *end = at + size;
    while (at < end && *at != (unsigned char)byte) {
        at++;
    }
    return at < end ? (void *)at : NULL;
}

size_t
strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    return length;
}

size_t
strnlen(const char *text, size_t most)
{
    size_t length = 0;
    while (length < most && text[length] != '\0') {
        length++;
    }
    return length;
}

int
strncmp(const char *one, const char *other, size_t most)
{
    size_t at = 0;
    while (at < most && one[at] == other[at] && one[at] != '\0') {
        at++;
    }
    return at == most ? 0 : (unsigned char)one[at] - (unsigned char)other[at];
}

int
strcmp(const char *one, const char *other)
{
    return strncmp(one, other, SIZE_MAX);
}

char *
strchr(const char *text, int byte)
{
    while (*text != (char)byte) {
        if (*text++ == '\0') {
            return NULL;
        }
    }
    return (char *)text;
}

char *
strrchr(const char *text, int byte)
{
    const char *found = NULL;
    do {
        found = *text == (char)byte ? text : found;
    } while (*text++ != '\0');
    return (char *)found;
}

char *
strstr(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; strncmp(text, part, length) != 0; text++) {
        if (*text == '\0') {
            return NULL;
        }
    }
    return (char *)text;
}

size_t
strcspn(const char *text, const char *ends)
{
    size_t length = 0;
    while (text[length] != '\0' && strchr(ends, text[length]) == NULL) {
        length++;
    }
    return length;
}

char *
strcpy(char *to, const char *from)
{
    return memmove(to, from, strlen(from) + 1);
}

static void
check_room(size_t size, size_t room)
{
    if (size > room) {
        __builtin_trap();
    }
}

void *
__memmove_chk(void *to, const void *from, size_t size, size_t room)
{
    check_room(size, room);
    return memmove(to, from, size);
}

void *
__memcpy_chk(void *to, const void *from, size_t size, size_t room)
{
    check_room(size, room);
    return memmove(to, from, size);
}

void *
__memset_chk(void *to, int byte, size_t size, size_t room)
{
    check_room(size, room);
    return memset(to, byte, size);
}

char *
__strcpy_chk(char *to, const char *from, size_t room)
{
    size_t size = strlen(from) + 1;
    check_room(size, room);
    return memmove(to, from, size);
}
