/* SPDX-License-Identifier: MIT */
#include "guard/report.h"

#include "os/entry.h"
#include "os/object.h"
#include "prof/unwind.h"

#define KNOWN_BUGS 256 /* when as many are known, all others are reported each time */

static _Atomic uint64_t known[KNOWN_BUGS]; /* hashes; 0: free */

struct hew_guard_stack
hew_guard_stack_here(uintptr_t inner)
{
    struct hew_guard_stack stack = {.thread = hew_entry_thread()};
    stack.depth = hew_unwind(stack.frames, HEW_GUARD_FRAMES, inner);
    return stack;
}

/* Bytes from the object to the address; 0: inside. */
static size_t
distance(const struct hew_guard_slot *slot, uintptr_t address)
{
    uintptr_t end = slot->object + slot->usable;
    return address < slot->object ? slot->object - address : address >= end ? address - end + 1 : 0;
}

struct hew_guard_finding
hew_guard_explain(uintptr_t address)
{
    struct hew_guard_slot *middle = hew_guard_slot_of(address);
    struct hew_guard_finding finding = {HEW_GUARD_USE_AFTER_FREE, NULL};
    for (int step = -1; middle != NULL && step <= 1; step++) {
        const struct hew_guard_slot *slot = hew_guard_slot_beside(middle, step);
        if (slot != NULL && slot->object != 0 &&
            (finding.slot == NULL || distance(slot, address) < distance(finding.slot, address))) {
            finding.slot = slot;
        }
    }
    /* acquire: pairs with the releases of those who change the state */
    if (finding.slot != NULL && distance(finding.slot, address) != 0 &&
        atomic_load_explicit(&finding.slot->state, memory_order_acquire) == HEW_GUARD_IS_LIVE) {
        finding.bug = address < finding.slot->object ? HEW_GUARD_UNDERFLOW : HEW_GUARD_OVERFLOW;
    }
    return finding;
}

static void
put_place(struct hew_text *text, uintptr_t address, const struct hew_guard_slot *slot)
{
    size_t away = distance(slot, address);
    if (away == 0) {
        hew_text_put(text, "at byte ");
        hew_text_put_unsigned(text, address - slot->object);
        hew_text_put(text, " of the ");
    } else {
        away -= address > slot->object;
        hew_text_put_unsigned(text, away);
        hew_text_put(text, away == 1 ? " byte " : " bytes ");
        hew_text_put(text, address < slot->object ? "before the " : "behind the ");
    }
    hew_text_put_unsigned(text, slot->requested);
    hew_text_put(text, "-byte object at ");
    hew_text_put_hex(text, slot->object);
}

void
hew_guard_put_fault(struct hew_text *text, const struct hew_fault *fault, const struct hew_guard_finding *finding)
{
    static const char bugs[][16] = {
        [HEW_GUARD_USE_AFTER_FREE] = "use after free",
        [HEW_GUARD_OVERFLOW] = "overflow",
        [HEW_GUARD_UNDERFLOW] = "underflow",
    };
    static const char accesses[][8] = {"access", "read", "write"};
    hew_text_put(text, "<hew>: SIGSEGV(");
    hew_text_put_hex(text, fault->address);
    hew_text_put(text, "): ");
    if (finding->slot == NULL) {
        hew_text_put(text, "wild pointer: no guarded object is near");
    } else {
        hew_text_put(text, bugs[finding->bug]);
        hew_text_put(text, ": ");
        hew_text_put(text, accesses[fault->access]);
        hew_text_put(text, " ");
        put_place(text, fault->address, finding->slot);
    }
    hew_text_put(text, "\n");
}

static void
put_frame(struct hew_text *text, unsigned number, uintptr_t frame)
{
    struct hew_os_object object = {0};
    hew_text_put(text, "    #");
    hew_text_put_unsigned(text, number);
    hew_text_put(text, " ");
    hew_text_put_hex(text, frame);
    if (hew_os_find_object(frame, &object)) {
        const char *path = object.path == NULL || object.path[0] == '\0' ? "the program" : object.path;
        hew_text_put(text, " ");
        hew_text_put(text, path);
        hew_text_put(text, "+");
        hew_text_put_hex(text, frame - object.begin);
    }
    hew_text_put(text, "\n");
}

void
hew_guard_put_stack(struct hew_text *text, const char *what, const struct hew_guard_stack *stack)
{
    hew_text_put(text, "  ");
    hew_text_put(text, what);
    hew_text_put(text, " by thread ");
    hew_text_put_unsigned(text, stack->thread);
    hew_text_put(text, ":\n");
    for (unsigned i = 0; i < stack->depth; i++) {
        put_frame(text, i, stack->frames[i]);
    }
}

void
hew_guard_put_stacks(struct hew_text *text, const struct hew_guard_slot *slot)
{
    hew_guard_put_stack(text, "allocated", &slot->born);
    if (atomic_load_explicit(&slot->state, memory_order_acquire) == HEW_GUARD_GONE) {
        hew_guard_put_stack(text, "freed", &slot->died);
    }
}

static uint64_t
mix_stack(uint64_t hash, const struct hew_guard_stack *stack)
{
    for (unsigned i = 0; i < stack->depth; i++) {
        hash = (hash ^ stack->frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

bool
hew_guard_is_new(enum hew_guard_bug bug, const struct hew_guard_slot *slot, const struct hew_guard_stack *here)
{
    uint64_t hash = mix_stack((uint64_t)bug, here);
    hash = slot == NULL ? hash : mix_stack(mix_stack(hash, &slot->born), &slot->died);
    hash |= 1;
    for (unsigned i = 0; i < KNOWN_BUGS; i++) {
        uint64_t expected = 0;
        _Atomic uint64_t *place = &known[(hash + i) % KNOWN_BUGS];
        if (atomic_compare_exchange_strong(place, &expected, hash)) {
            return true;
        }
        if (expected == hash) {
            return false;
        }
    }
    return true;
}
