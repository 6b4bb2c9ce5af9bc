/* SPDX-License-Identifier: MIT */
/*
 * slot: what is done to a slot from outside of pop and push.  A class is closed first; then membarrier restarts the sequences that
 * are under way, so that nobody uses its words any more.
 */
#include "cache/slot.h"

#include "base/options.h"
#include "cache/cache.h"
#include "cache/owner.h"
#include "meta/memory.h"
#include "os/check.h"
#include "os/cpus.h"
#include "os/environment.h"
#include "os/futex.h"
#include "os/gate.h"
#include "os/registers.h"
#include "os/syscall.h"

#include <string.h>

#define BARRIER 128          /* MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ */
#define BARRIER_REGISTER 256 /* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ */
#define FEATURE_SIZE 27      /* AT_RSEQ_FEATURE_SIZE */
#define AREA_CPU 4           /* in struct rseq; below 0: not registered */
#define AREA_NUMBER_END 28   /* behind mm_cid */
#define UNUSED ((void *)1)   /* in a word of an array: room */

_Atomic unsigned hew_slot_count;
static char *all_slots;
static _Atomic bool filter_expected; /* relaxed */

extern HEW_WEAK const ptrdiff_t __rseq_offset;
extern HEW_WEAK const unsigned __rseq_size;

void *
hew_slot_take(const struct hew_where *where, size_t code)
{
    return hew_slot_pop(where, code);
}

int
hew_slot_put(const struct hew_where *where, size_t code, void *object)
{
    return hew_slot_push(where, code, object);
}

/* The calling thread's area; NULL: it has registered none. */
static char *
own_area(void)
{
    char *area = (char *)hew_cpu_thread_pointer() + __rseq_offset;
    return *(const volatile int *)(area + AREA_CPU) >= 0 ? area : NULL;
}

struct hew_where
hew_slot_shared(void)
{
    char *area = atomic_load_explicit(&hew_slot_count, memory_order_relaxed) == 0 ? NULL : own_area();
    return area != NULL ? (struct hew_where){all_slots, area} : hew_slot_alone(&hew_slot_none);
}

static bool
rseq_works(void)
{
    return &__rseq_size != NULL && __rseq_size != 0 && hew_environment_auxiliary(FEATURE_SIZE) >= AREA_NUMBER_END &&
           own_area() != NULL && hew_syscall3(SYS_membarrier, BARRIER_REGISTER, 0, 0) == 0;
}

void
hew_slot_boot(void)
{
    unsigned count = HEW_SLOT_RSEQ && rseq_works() ? hew_cpus_possible() : 0; /* every number is below */
    size_t size = (size_t)count << HEW_LG_SLOT;
    all_slots = count != 0 && hew_meta_has_pages(size) ? hew_meta_take_pages(size) : NULL;
    if (all_slots != NULL) {
        hew_slot_count = count;
    }
}

void
hew_slot_bar_no_more(void)
{
    atomic_store_explicit(&filter_expected, true, memory_order_relaxed);
}

static bool
is_abandoned(const struct hew_slot *slot)
{
    return slot->shared && atomic_load_explicit(&hew_slot_count, memory_order_relaxed) == 0;
}

/* Restarts all sequences that are under way.  False: a filter refuses the call, or may end the process for it
 * (docs/sandboxes.md). */
static bool
barrier(const struct hew_slot *slot)
{
    bool wanted = hew_options.background_thread || is_abandoned(slot);
    bool may = wanted && !atomic_load_explicit(&filter_expected, memory_order_relaxed);
    return !slot->shared || (may && hew_syscall3(SYS_membarrier, BARRIER, 0, 0) == 0);
}

static bool
hold(struct hew_slot *slot)
{
    uint32_t nobody = 0;
    if (!atomic_compare_exchange_strong_explicit(&slot->held, &nobody, 1, memory_order_seq_cst, memory_order_relaxed)) {
        return false;
    }
    if (hew_gate_is_closed() && hew_gate_held == 0) {
        atomic_store_explicit(&slot->held, 0, memory_order_release);
        return false;
    }
    hew_gate_held++;
    return true;
}

static void
let_go(struct hew_slot *slot)
{
    hew_gate_held--;
    atomic_store_explicit(&slot->held, 0, memory_order_release);
}

/* In a handler that has interrupted its own thread's work on a slot it does not wait. */
static bool
hold_or_wait(struct hew_slot *slot)
{
    while (!hold(slot)) {
        if (hew_gate_held != 0) {
            return false;
        }
        if (hew_gate_is_closed()) {
            hew_gate_await();
        } else {
            hew_futex_wait(&slot->held, 1, 1);
        }
    }
    return true;
}

/* The words of an array: a power of two, with a NULL at either end. */
static size_t
words_for(size_t capacity)
{
    return (size_t)1 << hew_bits_ceil_log2(capacity + 2);
}

static void **
new_array(size_t capacity)
{
    void **array = hew_meta_take_raw(words_for(capacity) * sizeof *array);
    if (array != NULL) {
        for (size_t i = 1; i <= capacity; i++) {
            array[i] = UNUSED;
        }
        array[0] = array[capacity + 1] = NULL;
    }
    return array;
}

static void
give_array(void **array, size_t capacity)
{
    if (array != NULL) {
        hew_meta_give(array, words_for(capacity) * sizeof *array);
    }
}

static void **
array_of(const struct hew_slot *slot, unsigned code)
{
    return slot->begin[code] == 0 ? NULL : hew_slot_word(slot, slot->begin[code]) - 1;
}

static size_t
bytes_of(unsigned code, size_t objects)
{
    return objects * hew_slab_shapes[code].size;
}

static void
store(uintptr_t *word, uintptr_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* A closed class is again as it was, unless a sequence has opened it. */
static void
reopen(struct hew_slot *slot, unsigned code, uintptr_t top)
{
    uintptr_t closed = 0;
    __atomic_compare_exchange_n(&slot->top[code], &closed, top, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Closes classes as long as the calling thread uses the slot.  Returns the first that is not closed. */
static unsigned
close_some_here(struct hew_slot *slot, unsigned first, unsigned last, uintptr_t *tops)
{
    while (first <= last &&
           (slot->begin[first] == 0 || hew_slot_close_here(&hew_home.where, slot, first, &tops[first]))) {
        first++;
    }
    return first;
}

/* With the mark, closes the classes from `first` to `last` that have an array, and says what their tops were.  Wherever the caller
 * runs: a sequence that is under way may store a top after us, then once more.  False: there is no barrier; nothing has changed. */
static bool
close_classes(struct hew_slot *slot, unsigned first, unsigned last, uintptr_t *tops)
{
    memset(tops + first, 0, (last - first + 1) * sizeof *tops);
    unsigned begin = close_some_here(slot, first, last, tops);
    bool again = begin <= last, refused = false;
    while (again && !refused) {
        for (unsigned code = begin; code <= last; code++) {
            uintptr_t top = slot->begin[code] == 0 ? 0 : __atomic_exchange_n(&slot->top[code], 0, __ATOMIC_SEQ_CST);
            tops[code] = top != 0 ? top : tops[code];
        }
        refused = !barrier(slot);
        again = false;
        for (unsigned code = begin; code <= last; code++) {
            again |= __atomic_load_n(&slot->top[code], __ATOMIC_RELAXED) != 0;
        }
    }
    for (unsigned code = first; code <= last && refused; code++) {
        reopen(slot, code, tops[code]);
    }
    return !refused;
}

/* A closed class has this array from now on. */
static void
change_bounds(struct hew_slot *slot, unsigned code, void **array, size_t capacity)
{
    slot->granted += bytes_of(code, capacity) - bytes_of(code, slot->classes[code].capacity);
    slot->begin[code] = array == NULL ? 0 : (uintptr_t)(array + 1) - (uintptr_t)&slot->none[1];
    slot->limit[code] = slot->begin[code] + capacity * sizeof *array;
    slot->classes[code].capacity = (uint16_t)capacity;
}

/* The program's own mistakes end in fatal messages, each at its place; what is asked here must hold whatever it frees. */
static bool
object_valid(const void *object, unsigned code)
{
    unsigned shown = hew_map_code((uintptr_t)object);
    bool large = code > HEW_CODE_SMALL_LAST; /* one that was freed twice may lie in a depot as well */
    return object != NULL && (shown == code || shown == HEW_CODE_SLOW || (large && shown == HEW_CODE_NONE));
}

/* An array that no thread uses yet: NULL at both ends, and objects of the class. */
static bool
array_valid(void *const *array, unsigned code, size_t depth, size_t capacity)
{
    bool valid = array == NULL ? capacity == 0 : array[0] == NULL && array[capacity + 1] == NULL;
    for (size_t i = 1; valid && hew_check_may_walk(depth) && i <= depth; i++) {
        valid = object_valid(array[i], code);
    }
    return valid && depth <= capacity;
}

/* With the mark.  False: the objects do not fit, or the system refuses the barrier. */
static bool
change_class(struct hew_slot *slot, unsigned code, void **array, size_t capacity)
{
    uintptr_t tops[HEW_CODES], *top = &tops[code];
    void **before = array_of(slot, code);
    if (before != NULL && !close_classes(slot, code, code, tops)) {
        return false;
    }
    size_t depth = before == NULL ? 0 : (*top - slot->begin[code]) / sizeof *array;
    if (depth > capacity) {
        store(&slot->top[code], *top);
        return false;
    }
    for (size_t i = 1; i <= depth; i++) {
        array[i] = before[i];
    }
    HEW_ASSERT(3, array_valid(array, code, depth, capacity));
    change_bounds(slot, code, array, capacity);
    store(&slot->top[code], slot->begin[code] + depth * sizeof *array);
    return true;
}

bool
hew_slot_set(struct hew_slot *slot, unsigned code, size_t capacity)
{
    void **array = NULL;
    if (capacity == slot->classes[code].capacity || !hold(slot)) {
        return false;
    }
    size_t former = slot->classes[code].capacity;
    void **before = array_of(slot, code);
    bool possible = !is_abandoned(slot) && (capacity == 0 || (array = new_array(capacity)) != NULL);
    bool done = possible && change_class(slot, code, array, capacity);
    let_go(slot);
    give_array(done ? before : array, done ? former : capacity);
    return done;
}

/* What was in a slot: its objects go home, its arrays back. */
struct contents {
    void **array[HEW_CODES];
    uintptr_t depth[HEW_CODES]; /* first tops, then bytes of words */
    uint16_t capacity[HEW_CODES];
};

/* With the mark: the slot is empty afterwards.  False: the system refuses the barrier; nothing has changed. */
static bool
take_all(struct hew_slot *slot, struct contents *all)
{
    bool done = close_classes(slot, 1, HEW_CODE_CACHED_LAST, all->depth);
    for (unsigned code = 1; done && code <= HEW_CODE_CACHED_LAST; code++) {
        all->array[code] = array_of(slot, code);
        all->depth[code] -= slot->begin[code];
        all->capacity[code] = slot->classes[code].capacity;
        change_bounds(slot, code, NULL, 0);
    }
    return done;
}

static HEW_NOINLINE bool
slot_empty(struct hew_slot *slot, bool wait)
{
    struct contents all;
    if (slot->granted == 0) {
        return true;
    }
    if (!(wait ? hold_or_wait(slot) : hold(slot))) {
        return false;
    }
    bool done = take_all(slot, &all);
    let_go(slot);
    for (unsigned code = 1; done && code <= HEW_CODE_CACHED_LAST; code++) {
        if (all.array[code] != NULL) {
            hew_owner_give(code, all.array[code] + 1, (unsigned)(all.depth[code] / sizeof(void *)));
            give_array(all.array[code], all.capacity[code]);
        }
    }
    return done;
}

bool
hew_slot_empty(struct hew_slot *slot)
{
    return slot_empty(slot, false);
}

static struct hew_slot *
slot_at(unsigned index)
{
    return (struct hew_slot *)(all_slots + ((size_t)index << HEW_LG_SLOT));
}

static _Atomic unsigned past; /* one more than the highest slot that was used: relaxed, only grows */

#define EACH_SHARED(slot)                                                                                              \
    for (unsigned index_ = 0; index_ < past; index_++)                                                                 \
        for (struct hew_slot *slot = slot_at(index_); slot != NULL && slot->most != NULL; slot = NULL)

void
hew_slot_begin(struct hew_slot *slot, const uint16_t *most)
{
    unsigned before = atomic_load_explicit(&past, memory_order_relaxed);
    unsigned index = slot->shared ? (unsigned)((size_t)((char *)slot - all_slots) >> HEW_LG_SLOT) : 0;
    while (slot->shared && before <= index && !atomic_compare_exchange_weak(&past, &before, index + 1)) {
    }
    slot->most = most;
}

unsigned
hew_slot_used(void)
{
    unsigned used = atomic_load_explicit(&past, memory_order_relaxed);
    return used == 0 ? 1 : used;
}

/* Differs when the slot has been used. */
static HEW_UNCHECKED_THREADS uintptr_t
sum_of(const struct hew_slot *slot)
{
    uintptr_t sum = slot->misses;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        sum = sum * 31 + slot->top[code];
    }
    return sum;
}

bool
hew_slot_drain(bool all)
{
    bool left = false;
    EACH_SHARED(slot)
    {
        uintptr_t sum = sum_of(slot);
        if (slot->granted != 0 && (all || sum == slot->seen)) {
            left |= !slot_empty(slot, all);
            sum = 0;
        } else {
            left |= slot->granted != 0;
        }
        slot->seen = sum;
    }
    return left;
}

bool
hew_slot_abandon(void)
{
    unsigned count = atomic_exchange_explicit(&hew_slot_count, 0, memory_order_relaxed);
    bool done = !hew_slot_drain(true); /* whoever takes a mark after that sees the count */
    if (!done) {
        atomic_store_explicit(&hew_slot_count, count, memory_order_relaxed);
    }
    return done;
}

HEW_UNCHECKED_THREADS size_t
hew_slot_depth(const struct hew_slot *slot, unsigned code)
{
    uintptr_t top = __atomic_load_n(&slot->top[code], __ATOMIC_RELAXED);
    size_t depth = (top - __atomic_load_n(&slot->begin[code], __ATOMIC_RELAXED)) / sizeof(void *);
    return top != 0 && depth <= slot->classes[code].capacity ? depth : 0;
}

bool
hew_slot_holds(struct hew_slot *slot, unsigned code, const void *object)
{
    bool found = false;
    if (slot->classes[code].capacity == 0 || !hold(slot)) {
        return false;
    }
    void **array = array_of(slot, code);
    for (size_t left = hew_slot_depth(slot, code); left > 0 && !found; left--) {
        found = __atomic_load_n(&array[left], __ATOMIC_RELAXED) == object;
    }
    let_go(slot);
    return found;
}

size_t
hew_slot_held(unsigned code)
{
    size_t objects = 0;
    EACH_SHARED(slot)
    {
        objects += hew_slot_depth(slot, code);
    }
    return objects;
}

void
hew_slot_settle(void)
{
    EACH_SHARED(slot)
    {
        while (hew_gate_held == 1 && atomic_load(&slot->held) != 0) {
            hew_futex_wait(&slot->held, 1, 1);
        }
    }
}

/* Another thread, which does not exist here, was at work on the slot: what it had closed is lost. */
static void
begin_anew(struct hew_slot *slot)
{
    slot->granted = 0;
    for (unsigned code = 1; code <= HEW_CODE_CACHED_LAST; code++) {
        if (slot->top[code] == 0) {
            slot->begin[code] = slot->limit[code] = slot->classes[code].capacity = 0;
        }
        slot->granted += bytes_of(code, slot->classes[code].capacity);
    }
    atomic_store_explicit(&slot->held, 0, memory_order_relaxed);
}

void
hew_slot_after_fork(void)
{
    EACH_SHARED(slot)
    {
        if (atomic_load_explicit(&slot->held, memory_order_relaxed) != 0) {
            begin_anew(slot);
        }
    }
}
