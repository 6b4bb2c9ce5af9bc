/* SPDX-License-Identifier: MIT */
/*
 * buffer: what a weakly ordered processor may do with stores.
 *
 * An atomic store that is not sequentially consistent waits in its thread's buffer and is seen by others later: one without
 * order at any time, a release after all that came before it.  The thread itself sees its stores at once.  Operations that
 * read and write pass the buffer (after what it orders before them).  Plain stores are seen at once: who reads them without
 * an order between the two has a race that is a fault on any machine.
 * Not here  loads that are made early.
 */
#include "machine.h"

#include <string.h>

static bool
overlaps(const struct machine_store *store, const void *address, unsigned size)
{
    return (char *)store->address < (const char *)address + size &&
           (const char *)address < (char *)store->address + store->size;
}

/* The store at `index` is seen now. */
static void
publish(struct machine_thread *thread, unsigned index)
{
    struct machine_store *store = &thread->store[index];
    memcpy(store->address, &store->value, store->size);
    thread->stores--;
    thread->stored_lines = thread->stores == 0 ? 0 : thread->stored_lines;
    memmove(store, store + 1, (thread->stores - index) * sizeof *store);
}

void
machine_drain(struct machine_thread *thread)
{
    while (thread->stores != 0) {
        publish(thread, 0);
    }
}

void
machine_drain_all(void)
{
    for (unsigned i = 0; i < MACHINE_THREADS; i++) {
        machine_drain(&machine_threads[i]);
    }
}

void
machine_buffer(void *address, unsigned size, uint64_t value, bool ordered)
{
    struct machine_thread *self = machine_self;
    machine_settle(address, size);
    if (self->stores == MACHINE_BUFFERED) {
        publish(self, 0);
    }
    self->stored_lines |= machine_line_bit((uintptr_t)address);
    self->store[self->stores++] = (struct machine_store){address, value, size, ordered};
}

bool
machine_buffered(const void *address, unsigned size, uint64_t *value)
{
    for (unsigned i = machine_self->stores; i-- > 0;) {
        struct machine_store *store = &machine_self->store[i];
        if (store->address == address && store->size == size) {
            *value = store->value;
            return true;
        }
    }
    machine_settle(address, size);
    return false;
}

/* A release, and with it all before it. */
static void
publish_in_order(struct machine_thread *thread, unsigned index)
{
    if (!thread->store[index].ordered) {
        publish(thread, index);
        return;
    }
    for (unsigned i = 0; i <= index; i++) {
        publish(thread, 0);
    }
}

void
machine_settle(const void *address, unsigned size)
{
    struct machine_thread *self = machine_self;
    for (unsigned i = self->stores; i-- > 0;) {
        if (overlaps(&self->store[i], address, size)) {
            publish_in_order(self, i);
            i = i < self->stores ? i : self->stores;
        }
    }
}

void
machine_drain_some(struct machine_thread *thread)
{
    while (thread->stores != 0 && machine_below(4) == 0) {
        publish_in_order(thread, (unsigned)machine_below(thread->stores));
    }
}
