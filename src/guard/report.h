/* SPDX-License-Identifier: MIT */
/*
 * report: the text about a misuse of a guarded object: one line that names it, then the stacks.
 *
 * Promises  takes no lock and allocates nothing, so that a signal handler may call it.
 */
#ifndef HEW_GUARD_REPORT_H
#define HEW_GUARD_REPORT_H

#include "base/text.h"
#include "guard/slots.h"
#include "os/fault.h"

enum hew_guard_bug {
    HEW_GUARD_USE_AFTER_FREE,
    HEW_GUARD_OVERFLOW,
    HEW_GUARD_UNDERFLOW,
    HEW_GUARD_DOUBLE_FREE,
    HEW_GUARD_BAD_POINTER, /* to the inside of an object, or to none */
    HEW_GUARD_BUGS,
};

/* The calling thread's stack, without hew's own frames and without those inside of `inner`. */
struct hew_guard_stack hew_guard_stack_here(uintptr_t inner);

/* What an access to an address of the range means, and the object that it means. */
struct hew_guard_finding {
    enum hew_guard_bug bug;
    const struct hew_guard_slot *slot; /* NULL: no object is near */
};
struct hew_guard_finding hew_guard_explain(uintptr_t address);

/* Appends "<hew>: SIGSEGV(0x...): ..." and a newline. */
void hew_guard_put_fault(struct hew_text *text, const struct hew_fault *fault, const struct hew_guard_finding *finding);

/* Appends the stacks of an object's allocation and, if it is free, of its free. */
void hew_guard_put_stack(struct hew_text *text, const char *what, const struct hew_guard_stack *stack);
void hew_guard_put_stacks(struct hew_text *text, const struct hew_guard_slot *slot);

/* Whether this mistake at these places was not found before; remembers it. */
bool hew_guard_is_new(enum hew_guard_bug bug, const struct hew_guard_slot *slot, const struct hew_guard_stack *here);

#endif
