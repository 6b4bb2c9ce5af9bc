/* SPDX-License-Identifier: MIT */
#include "prof/unwind.h"

#include "os/process.h"

#include <stdatomic.h>
#include <string.h>

#define LG_SLOTS 11
#define FRAME_BYTES_MAX ((uintptr_t)256 << 20) /* no frame is larger: a wrong rule ends the walk instead of faulting */

struct known {
    uintptr_t pc;
    const uint8_t *index; /* of the object that contains the code */
    struct hew_cfi_rule rule;
};

#define KNOWN_WORDS ((sizeof(struct known) + 7) / 8)

/* A slot is read without a lock: a read is valid if `version` is even and did not change meanwhile. */
struct slot {
    _Atomic uint64_t version;
    _Atomic uint64_t words[KNOWN_WORDS];
};

static struct slot slots[1u << LG_SLOTS];
/* Written at boot. */
static struct hew_os_object own;
static void (*noticed)(const struct hew_os_object *object);

void
hew_unwind_boot(void (*notice)(const struct hew_os_object *object))
{
    noticed = notice;
    /* In a static program hew and the program are one object: then no frame is left out. */
    uintptr_t program = hew_os_program_address();
    if (!hew_os_find_object((uintptr_t)hew_unwind_boot, &own) || (program >= own.begin && program < own.end)) {
        own.begin = own.end = 0;
    }
}

static struct slot *
slot_of(uintptr_t pc)
{
    return &slots[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - LG_SLOTS)];
}

static bool
recall(uintptr_t pc, const uint8_t *index, struct hew_cfi_rule *rule)
{
    struct slot *slot = slot_of(pc);
    union {
        uint64_t words[KNOWN_WORDS];
        struct known known;
    } copy;
    /* acquire: pairs with the release in remember() */
    uint64_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
    for (unsigned i = 0; i < KNOWN_WORDS; i++) {
        /* acquire: the version is read again after the words; pairs with the releases in remember() */
        copy.words[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
    }
    if ((version & 1) != 0 || atomic_load_explicit(&slot->version, memory_order_relaxed) != version ||
        copy.known.pc != pc || copy.known.index != index) {
        return false;
    }
    *rule = copy.known.rule;
    return true;
}

static void
remember(uintptr_t pc, const uint8_t *index, const struct hew_cfi_rule *rule)
{
    struct slot *slot = slot_of(pc);
    union {
        uint64_t words[KNOWN_WORDS];
        struct known known;
    } copy = {{0}};
    copy.known.pc = pc;
    copy.known.index = index;
    copy.known.rule = *rule;
    uint64_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    if ((version & 1) != 0 || !atomic_compare_exchange_strong(&slot->version, &version, version + 1)) {
        return; /* another thread is writing it */
    }
    for (unsigned i = 0; i < KNOWN_WORDS; i++) {
        /* release: a thread that sees a word also sees the odd version */
        atomic_store_explicit(&slot->words[i], copy.words[i], memory_order_release);
    }
    atomic_store_explicit(&slot->version, version + 2, memory_order_release);
}

bool
hew_unwind_find(uintptr_t pc, struct hew_cfi_rule *rule)
{
    struct hew_os_object object = {0};
    if (!hew_os_find_object(pc, &object) || object.unwind_index == NULL) {
        return false;
    }
    if (recall(pc, object.unwind_index, rule)) {
        return true;
    }
    if (!hew_cfi_find(object.unwind_index, pc, rule)) {
        return false;
    }
    remember(pc, object.unwind_index, rule);
    if (noticed != NULL) {
        noticed(&object);
    }
    return true;
}

static bool
is_next_stack(const struct hew_registers *registers, uintptr_t sp)
{
    return sp >= registers->sp && sp - registers->sp < FRAME_BYTES_MAX && sp % sizeof(uintptr_t) == 0;
}

static bool
step_by_rule(struct hew_registers *registers, const struct hew_cfi_rule *rule)
{
    if (rule->base == HEW_CFI_STACK ? false : registers->kept[rule->base] == 0) {
        return false; /* register not known */
    }
    uintptr_t base = rule->base == HEW_CFI_STACK ? registers->sp : registers->kept[rule->base];
    uintptr_t cfa = base + (uintptr_t)(intptr_t)rule->offset;
    if (rule->indirect) {
        if (!is_next_stack(registers, cfa)) {
            return false;
        }
        cfa = *(const uintptr_t *)cfa;
    }
    if (!is_next_stack(registers, cfa)) {
        return false;
    }
    uintptr_t frame = registers->kept[HEW_KEPT_FRAME];
    for (unsigned i = 0; i < HEW_KEPT; i++) {
        int16_t saved = rule->saved[i];
        if (saved == HEW_CFI_LOST) {
            registers->kept[i] = 0;
        } else if (saved != HEW_CFI_SAME) {
            uintptr_t from = (rule->by_frame >> i & 1) != 0 ? frame : cfa;
            registers->kept[i] = *(const uintptr_t *)(from + (uintptr_t)(intptr_t)saved);
        }
    }
    registers->sp = cfa;
    registers->pc = hew_registers_address(registers->kept[HEW_KEPT_RETURN]);
    return true;
}

/* On both processors the frame pointer points at the caller's frame pointer, followed by the return address. */
static bool
step_by_frame(struct hew_registers *registers)
{
    uintptr_t frame = registers->kept[HEW_KEPT_FRAME], link[2];
    uint8_t code;
    if (frame <= registers->sp || !is_next_stack(registers, frame) || !hew_os_peek(frame, link, sizeof link)) {
        return false;
    }
    registers->kept[HEW_KEPT_FRAME] = link[0];
    registers->sp = frame + sizeof link;
    registers->pc = hew_registers_address(link[1]);
    return registers->pc != 0 && hew_os_peek(registers->pc - 1, &code, 1);
}

/* For code that only calls, and has neither tables nor a frame pointer: CPython's trampolines for perf (python -X
 * perf). */
static bool
step_by_end(struct hew_registers *registers, int dropped)
{
    uintptr_t back, at = registers->sp + (uintptr_t)dropped;
    if (!hew_os_peek(at, &back, sizeof back)) {
        return false;
    }
    registers->sp = at + sizeof back;
    registers->pc = back;
    return back != 0;
}

static bool
step_over_signal(struct hew_registers *registers, bool *exact)
{
    hew_registers_before_signal(registers);
    *exact = true;
    return registers->pc != 0;
}

/* One step outwards from code that no table covers. */
static bool
step_without_tables(struct hew_registers *registers, bool *exact)
{
    uint64_t code = 0;
    if (hew_os_peek(registers->pc, &code, sizeof code)) {
        if (HEW_HANDLER_END != 0 && code == HEW_HANDLER_END) { /* between a signal handler and the interrupted code */
            return step_over_signal(registers, exact);
        }
        int dropped = hew_registers_dropped(code);
        if (dropped >= 0) {
            return step_by_end(registers, dropped);
        }
    }
    return step_by_frame(registers);
}

/* One step outwards.  `exact`: pc is an instruction; otherwise it is a return address, which may lie in the next
 * function. */
static bool
step(struct hew_registers *registers, bool *exact)
{
    struct hew_cfi_rule rule;
    uintptr_t before = registers->pc, sp = registers->sp;
    bool found =
        hew_unwind_find(*exact ? before : before - 1, &rule) ||
        (!*exact && hew_unwind_find(before, &rule) && rule.signal); /* signal trampolines begin at the return address */
    *exact = false;
    if (!found) {
        return step_without_tables(registers, exact);
    }
    if (rule.signal) {
        return step_over_signal(registers, exact);
    }
    return step_by_rule(registers, &rule) && registers->pc != 0 && (registers->pc != before || registers->sp != sp);
}

HEW_NOINLINE unsigned
hew_unwind(uintptr_t *frames, unsigned most, uintptr_t inner)
{
    struct hew_registers registers;
    hew_registers_here(&registers);
    unsigned count = 0;
    bool exact = true, inside = own.end != 0;
    while (count < most && step(&registers, &exact)) {
        if (registers.sp < inner) {
            continue;
        }
        inside = inside && registers.pc - own.begin < own.end - own.begin;
        if (!inside) {
            frames[count++] = registers.pc;
        }
    }
    if (count == 0 && most > 0) { /* no tables, no frame pointers: return at least one frame */
        frames[count++] = (uintptr_t)__builtin_return_address(0);
    }
    return count;
}
