/* SPDX-License-Identifier: MIT */
/*
 * hooks: what gcc's -fsanitize=thread puts in front of each access to memory and in the place of each atomic operation.
 *
 * Each is a point where the thread may lose the processor.  Without delayed stores every operation is sequentially
 * consistent.
 */
#include "machine.h"

#include <string.h>

void (*machine_charge)(const void *address, unsigned size, enum machine_access access);

#define RELEASE __ATOMIC_RELEASE

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
    if (__builtin_expect(machine_self != NULL && machine_self->stores != 0, 0) && access <= MACHINE_WRITE) {
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
        } else {
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
        if (machine_self != NULL && machine_self->stores != 0 && machine_buffered(at, sizeof(type), &own)) {           \
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

void *
simulated_memset(void *to, int byte, size_t size)
{
    note(to, (unsigned)size, MACHINE_WRITE);
    return memset(to, byte, size);
}

void *
simulated_memcpy(void *to, const void *from, size_t size)
{
    note(from, (unsigned)size, MACHINE_READ);
    note(to, (unsigned)size, MACHINE_WRITE);
    return memcpy(to, from, size);
}

void *
simulated_memmove(void *to, const void *from, size_t size)
{
    note(from, (unsigned)size, MACHINE_READ);
    note(to, (unsigned)size, MACHINE_WRITE);
    return memmove(to, from, size);
}
