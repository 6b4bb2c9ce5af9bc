/* SPDX-License-Identifier: MIT */
/*
 * hooks: what gcc's -fsanitize=thread puts in front of each access to memory and in the place of each atomic operation.
 *
 * Each is a point where the thread may lose the processor.  Without delayed stores every operation is sequentially
 * consistent.
 */
#include "machine.h"

#include <string.h>
#include <sys/mman.h>

void (*machine_charge)(const void *address, unsigned size, enum machine_access access);

#define RELEASE __ATOMIC_RELEASE
#define PAGE ((size_t)4096)

const void *machine_site;

__attribute__((always_inline)) static inline void
note(const void *address, unsigned size, enum machine_access access)
{
    if (__builtin_expect(machine_charge != NULL, 0)) {
        machine_site = __builtin_return_address(0);
        machine_charge(address, size, access);
    } else if (__builtin_expect(--machine_budget < 0, 0)) {
        machine_preempt();
    }
    if (access <= MACHINE_WRITE && __builtin_expect(machine_may_meet(address, size), 0)) {
        machine_settle(address, size);
    }
}

void __tsan_init(void);
void
__tsan_init(void)
{
}

#define PLAIN(name, size, access)                                                                                      \
    void __tsan_##name(void *address);                                                                                 \
    void __tsan_##name(void *address)                                                                                  \
    {                                                                                                                  \
        note(address, size, access);                                                                                   \
    }
#define PLAIN_OF_SIZE(size)                                                                                            \
    PLAIN(read##size, size, MACHINE_READ)                                                                              \
    PLAIN(write##size, size, MACHINE_WRITE)                                                                            \
    PLAIN(unaligned_read##size, size, MACHINE_READ)                                                                    \
    PLAIN(unaligned_write##size, size, MACHINE_WRITE)                                                                  \
    PLAIN(volatile_read##size, size, MACHINE_READ)                                                                     \
    PLAIN(volatile_write##size, size, MACHINE_WRITE)
PLAIN_OF_SIZE(1)
PLAIN_OF_SIZE(2)
PLAIN_OF_SIZE(4)
PLAIN_OF_SIZE(8)
PLAIN_OF_SIZE(16)

void __tsan_read_range(void *address, size_t size);
void __tsan_write_range(void *address, size_t size);

void
__tsan_read_range(void *address, size_t size)
{
    note(address, (unsigned)size, MACHINE_READ);
}

void
__tsan_write_range(void *address, size_t size)
{
    note(address, (unsigned)size, MACHINE_WRITE);
}

/* Before an operation that reads and writes: what its order puts before it. */
static void
order_before(void *address, unsigned size, int order)
{
    if (machine_self != NULL && machine_self->stores != 0) {
        if (order >= RELEASE) { /* release, acquire and release, sequentially consistent */
            machine_drain(machine_self);
        } else if (machine_may_meet(address, size)) {
            machine_settle(address, size);
        }
    }
}

static bool
is_delayed(int order)
{
    return machine_habits.delayed_stores && machine_self != NULL && order <= RELEASE;
}

#define LOAD_STORE(bits, type)                                                                                         \
    type __tsan_atomic##bits##_load(type *at, int order);                                                              \
    type __tsan_atomic##bits##_load(type *at, int order)                                                               \
    {                                                                                                                  \
        uint64_t own;                                                                                                  \
        note(at, sizeof(type), MACHINE_LOAD);                                                                          \
        if (machine_may_meet(at, sizeof(type)) && machine_buffered(at, sizeof(type), &own)) {                          \
            return (type)own;                                                                                          \
        }                                                                                                              \
        return *(volatile type *)at;                                                                                   \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(type *at, type value, int order);                                                 \
    void __tsan_atomic##bits##_store(type *at, type value, int order)                                                  \
    {                                                                                                                  \
        note(at, sizeof(type), MACHINE_STORE);                                                                         \
        if (is_delayed(order)) {                                                                                       \
            machine_buffer(at, sizeof(type), value, order == RELEASE);                                                 \
            return;                                                                                                    \
        }                                                                                                              \
        order_before(at, sizeof(type), order);                                                                         \
        *(volatile type *)at = value;                                                                                  \
    }

#define CHANGE(bits, type, name, expression)                                                                           \
    type __tsan_atomic##bits##_##name(type *at, type value, int order);                                                \
    type __tsan_atomic##bits##_##name(type *at, type value, int order)                                                 \
    {                                                                                                                  \
        note(at, sizeof(type), MACHINE_CHANGE);                                                                        \
        order_before(at, sizeof(type), order);                                                                         \
        type before = *at;                                                                                             \
        *at = (type)(expression);                                                                                      \
        return before;                                                                                                 \
    }

#define COMPARE(bits, type, name)                                                                                      \
    int __tsan_atomic##bits##_compare_exchange_##name(type *at, type *expected, type value, int order, int fails);     \
    int __tsan_atomic##bits##_compare_exchange_##name(type *at, type *expected, type value, int order, int fails)      \
    {                                                                                                                  \
        note(at, sizeof(type), MACHINE_CHANGE);                                                                        \
        order_before(at, sizeof(type), order);                                                                         \
        if (*at != *expected) {                                                                                        \
            *expected = *at;                                                                                           \
            return 0;                                                                                                  \
        }                                                                                                              \
        *at = value;                                                                                                   \
        return 1;                                                                                                      \
    }

#define ATOMIC(bits, type)                                                                                             \
    LOAD_STORE(bits, type)                                                                                             \
    CHANGE(bits, type, exchange, value)                                                                                \
    CHANGE(bits, type, fetch_add, before + value)                                                                      \
    CHANGE(bits, type, fetch_sub, before - value)                                                                      \
    CHANGE(bits, type, fetch_and, before &value)                                                                       \
    CHANGE(bits, type, fetch_or, before | value)                                                                       \
    CHANGE(bits, type, fetch_xor, before ^ value)                                                                      \
    COMPARE(bits, type, strong)                                                                                        \
    COMPARE(bits, type, weak)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void
__tsan_atomic_thread_fence(int order)
{
    if (machine_self != NULL && order >= RELEASE) {
        machine_drain(machine_self);
    }
}

void
__tsan_atomic_signal_fence(int order)
{
}

/* The compiler does not see into these. */
void *simulated_memset(void *to, int byte, size_t size);
void *simulated_memcpy(void *to, const void *from, size_t size);
void *simulated_memmove(void *to, const void *from, size_t size);

/* A page that was never touched costs more than all else.  Of a large range zeros are written where something is; of other
 * bytes (junk, which no model reads) only every 16th page gets some. */
/* What is smaller is filled and copied as it comes: also the pages of a guarded object. */
#define DONE_WHOLE ((size_t)64 << 10)
#define PAGES_AT_ONCE 256
#define JUNK_STEP 16

static void
fill_page(char *page, int byte, unsigned index, unsigned char resident)
{
    if (byte == 0 ? (resident & 1) != 0 : index % JUNK_STEP == 0) {
        memset(page, byte, PAGE);
    }
}

/* Whole pages. */
static void
fill_pages(char *to, int byte, size_t size)
{
    unsigned char resident[PAGES_AT_ONCE];
    while (size != 0) {
        size_t part = size < sizeof resident * PAGE ? size : sizeof resident * PAGE;
        if (mincore(to, part, resident) != 0) {
            memset(to, byte, part); /* not mapped: the fault that this is */
        }
        for (unsigned i = 0; i < part / PAGE; i++) {
            fill_page(to + i * PAGE, byte, i, resident[i]);
        }
        to += part;
        size -= part;
    }
}

void *
simulated_memset(void *to, int byte, size_t size)
{
    note(to, (unsigned)size, MACHINE_WRITE);
    if (size < DONE_WHOLE) {
        return memset(to, byte, size);
    }
    size_t head = PAGE - (uintptr_t)to % PAGE, tail = ((uintptr_t)to + size) % PAGE;
    memset(to, byte, head);
    fill_pages((char *)to + head, byte, size - head - tail);
    memset((char *)to + size - tail, byte, tail);
    return to;
}

/* Whole pages; what was never touched is not touched now: it reads as zeros here and there. */
static void
copy_pages(char *to, const char *from, size_t size)
{
    unsigned char filled[PAGES_AT_ONCE], before[PAGES_AT_ONCE];
    for (size_t part; size != 0; to += part, from += part, size -= part) {
        part = size < sizeof filled * PAGE ? size : sizeof filled * PAGE;
        if (mincore((void *)from, part, filled) != 0 || mincore(to, part, before) != 0) {
            memcpy(to, from, part); /* not mapped: the fault that this is */
        }
        for (size_t i = 0; i < part / PAGE; i++) {
            if (((filled[i] | before[i]) & 1) != 0) {
                memcpy(to + i * PAGE, from + i * PAGE, PAGE);
            }
        }
    }
}

void *
simulated_memcpy(void *to, const void *from, size_t size)
{
    note(from, (unsigned)size, MACHINE_READ);
    note(to, (unsigned)size, MACHINE_WRITE);
    if (size < DONE_WHOLE || ((uintptr_t)to - (uintptr_t)from) % PAGE != 0) {
        return memcpy(to, from, size);
    }
    size_t head = PAGE - (uintptr_t)to % PAGE, tail = ((uintptr_t)to + size) % PAGE;
    memcpy(to, from, head);
    copy_pages((char *)to + head, (const char *)from + head, size - head - tail);
    memcpy((char *)to + size - tail, (const char *)from + size - tail, tail);
    return to;
}

void simulated_bzero(void *to, size_t size);
void *simulated_mempcpy(void *to, const void *from, size_t size);

void
simulated_bzero(void *to, size_t size)
{
    simulated_memset(to, 0, size);
}

void *
simulated_mempcpy(void *to, const void *from, size_t size)
{
    return (char *)simulated_memcpy(to, from, size) + size;
}

void *
simulated_memmove(void *to, const void *from, size_t size)
{
    note(from, (unsigned)size, MACHINE_READ);
    note(to, (unsigned)size, MACHINE_WRITE);
    return memmove(to, from, size);
}
