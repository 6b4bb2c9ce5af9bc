/* SPDX-License-Identifier: MIT */
/*
 * walk: see walk.h.
 *
 * The last stack is in frames[first .. FRAMES), the outermost frame last.  A walk compares as it goes: if a frame has
 * the same position and return address as in the last stack, its cached data is used.  So the common part of two stacks
 * costs a load and two compares a frame, and no search in the tree.
 */
#include "record/walk.h"

#include "os/object.h"
#include "os/process.h"
#include "os/syscall.h"
#include "prof/unwind.h"
#include "record/next.h"
#include "record/python.h"
#include "record/tree.h"

#include <dlfcn.h>
#include <sys/mman.h>

#define FRAMES 512u /* deeper stacks lose their outermost frames */
#define LG_STEPS 10
#define FRAME_BYTES_MAX ((uintptr_t)256 << 20)

enum step_kind {
    STEP_STACK,    /* CFA = sp + offset */
    STEP_FRAME,    /* CFA = fp + offset */
    STEP_INDIRECT, /* CFA = the value stored at fp + offset */
    STEP_LINK,     /* no tables: fp points at the caller's fp, followed by the return address */
    STEP_LAST,     /* there is no caller */
    STEP_NOWHERE,  /* no code at this address */
    STEP_OTHER,    /* only hew_unwind() can walk it */
};

/* How to get from a frame to its caller. */
struct step {
    uintptr_t pc;
    int32_t offset;
    int16_t fp_at, return_at; /* offsets from the CFA; fp_at may be HEW_CFI_SAME or HEW_CFI_LOST */
    uint8_t kind;
    bool fp_by_frame; /* fp_at is relative to fp */
};

struct frame {
    uintptr_t sp;
    struct step step; /* step.pc is the return address into this frame */
    uint32_t node;
};

struct hew_trace_walk {
    uint64_t unloads;
    uintptr_t top;                /* the stack is readable up to here */
    uintptr_t own_begin, own_end; /* address range of this library */
    unsigned first;
    bool unnamed; /* frames have no nodes of their own: Python frames were between them */
    struct hew_python_memory *python;
    struct frame frames[FRAMES];
    struct frame newer[FRAMES]; /* innermost first: frames of this walk that are not among `frames` */
    uintptr_t addresses[FRAMES];
    struct step steps[1u << LG_STEPS];
    _Alignas(16) char more[]; /* memory of `python` */
};

/* Counts the starts and ends of unloading: cached frames of unloaded code are invalid. */
static uint64_t unloads;

HEW_EXPORT int dlclose(void *handle);

int
dlclose(void *handle)
{
    static int (*known)(void *);
    int (*next)(void *) = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    int result;

    if (next == NULL) {
        *(void **)&next = hew_next_named("dlclose");
        if (next == NULL) {
            return -1;
        }
        __atomic_store_n(&known, next, __ATOMIC_RELEASE);
    }
    result = next(handle);
    __atomic_fetch_add(&unloads, 1, __ATOMIC_RELEASE);
    return result;
}

struct hew_trace_walk *
hew_trace_walk_new(void)
{
    struct hew_trace_walk *walk;
    struct hew_os_object own;
    long mapped = hew_syscall6(SYS_mmap, 0, (long)(sizeof(*walk) + hew_python_memory_size()), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapped < 0) {
        return NULL;
    }
    walk = (struct hew_trace_walk *)mapped;
    walk->python = (struct hew_python_memory *)walk->more;
    /* In a static program this library and the program are one object: then no frame is left out. */
    if (hew_os_find_object((uintptr_t)hew_trace_walk_new, &own) &&
        hew_os_program_address() - own.begin >= own.end - own.begin) {
        walk->own_begin = own.begin;
        walk->own_end = own.end;
    }
    hew_trace_walk_forget(walk);
    return walk;
}

void
hew_trace_walk_free(struct hew_trace_walk *walk)
{
    hew_syscall2(SYS_munmap, walk, sizeof(*walk) + hew_python_memory_size());
}

void
hew_trace_walk_forget(struct hew_trace_walk *walk)
{
    walk->first = FRAMES;
    walk->top = 0;
    hew_python_forget(walk->python);
    for (unsigned i = 0; i < 1u << LG_STEPS; i++) {
        walk->steps[i].pc = 0;
    }
}

/* For code without tables. */
static void
make_step_without_tables(uintptr_t pc, struct step *step)
{
    uint64_t code = 0;
    int dropped;

    if (!hew_os_peek(pc - 1, &code, 1)) {
        step->kind = STEP_NOWHERE;
        return;
    }
    code = 0;
    hew_os_peek(pc, &code, sizeof(code));
    dropped = hew_registers_dropped(code);
    if (HEW_HANDLER_END != 0 && code == HEW_HANDLER_END) {
        step->kind = STEP_OTHER;
    } else if (dropped >= 0) {
        step->kind = STEP_STACK;
        step->offset = dropped + (int)sizeof(uintptr_t);
        step->return_at = -(int)sizeof(uintptr_t);
        step->fp_at = HEW_CFI_SAME;
    } else {
        step->kind = STEP_LINK;
    }
}

static void
make_step(uintptr_t pc, struct step *step)
{
    struct hew_os_object object;
    struct hew_cfi_rule rule;

    *step = (struct step){.pc = pc, .kind = STEP_OTHER};
    if (hew_os_find_object(pc - 1, &object)) {
        if (hew_trace_tree_note(object.begin, object.end)) {
            hew_python_meet(&object);
        }
    }
    if (!hew_unwind_find(pc - 1, &rule)) {
        if (!hew_unwind_find(pc, &rule) || !rule.signal) {
            make_step_without_tables(pc, step);
        }
        return;
    }
    if (rule.signal || (rule.by_frame >> HEW_KEPT_RETURN & 1) != 0 || rule.saved[HEW_KEPT_RETURN] == HEW_CFI_SAME) {
        return;
    }
    step->offset = rule.offset;
    step->fp_at = rule.saved[HEW_KEPT_FRAME];
    step->fp_by_frame = (rule.by_frame >> HEW_KEPT_FRAME & 1) != 0;
    step->return_at = rule.saved[HEW_KEPT_RETURN];
    if (rule.saved[HEW_KEPT_RETURN] == HEW_CFI_LOST) {
        step->kind = STEP_LAST;
    } else if (rule.base == HEW_CFI_STACK && !rule.indirect) {
        step->kind = STEP_STACK;
    } else if (rule.base == HEW_KEPT_FRAME) {
        step->kind = rule.indirect ? STEP_INDIRECT : STEP_FRAME;
    }
}

static const struct step *
find_step(struct hew_trace_walk *walk, uintptr_t pc)
{
    struct step *step = &walk->steps[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - LG_STEPS)];

    if (HEW_UNLIKELY(step->pc != pc)) {
        make_step(pc, step);
    }
    return step;
}

/* Whether an address of this stack is readable: it is if it is below the top of a walk by fresh rules. */
static bool
can_read(const struct hew_trace_walk *walk, uintptr_t sp, uintptr_t at, bool fresh)
{
    return at >= sp && at % sizeof(uintptr_t) == 0 && at - sp < FRAME_BYTES_MAX && (at < walk->top || fresh);
}

enum outcome { GOES_ON, ENDS, UNKNOWN };

static enum outcome
step_by_link(const struct hew_trace_walk *walk, struct hew_trace_start *now, bool fresh)
{
    uintptr_t link[2], frame = now->fp;

    if (frame <= now->sp || frame % sizeof(uintptr_t) != 0 || frame - now->sp >= FRAME_BYTES_MAX) {
        return ENDS;
    }
    if (frame + sizeof(link) <= walk->top) {
        link[0] = ((const uintptr_t *)frame)[0];
        link[1] = ((const uintptr_t *)frame)[1];
    } else if (!fresh || !hew_os_peek(frame, link, sizeof(link))) {
        return fresh ? ENDS : UNKNOWN;
    }
    *now = (struct hew_trace_start){hew_registers_address(link[1]), frame + sizeof(link), link[0]};
    return now->pc == 0 ? ENDS : GOES_ON;
}

/* One frame outwards.  UNKNOWN: it leads beyond the known part of this stack. */
HEW_INLINE enum outcome
take_step(const struct hew_trace_walk *walk, const struct step *step, struct hew_trace_start *now, bool fresh)
{
    uintptr_t cfa = (step->kind == STEP_STACK ? now->sp : now->fp) + (uintptr_t)(intptr_t)step->offset, pc;

    if (HEW_UNLIKELY(step->kind > STEP_FRAME)) {
        if (step->kind == STEP_LINK) {
            return step_by_link(walk, now, fresh);
        }
        if (step->kind != STEP_INDIRECT || now->fp == 0) {
            return ENDS;
        }
        if (!can_read(walk, now->sp, cfa, fresh)) {
            return fresh ? ENDS : UNKNOWN;
        }
        cfa = *(const uintptr_t *)cfa;
    } else if (step->kind == STEP_FRAME && now->fp == 0) {
        return ENDS; /* the frame pointer is not known */
    }
    if (HEW_UNLIKELY(!can_read(walk, now->sp, cfa - sizeof(uintptr_t), fresh))) {
        return fresh ? ENDS : UNKNOWN;
    }
    pc = hew_registers_address(*(const uintptr_t *)(cfa + (uintptr_t)(intptr_t)step->return_at));
    if (step->fp_at == HEW_CFI_LOST) {
        now->fp = 0;
    } else if (step->fp_at != HEW_CFI_SAME) {
        now->fp = *(const uintptr_t *)((step->fp_by_frame ? now->fp : cfa) + (uintptr_t)(intptr_t)step->fp_at);
    }
    now->sp = cfa;
    now->pc = pc;
    return pc == 0 ? ENDS : GOES_ON;
}

/* The result so far: `newer`, followed by frames[run .. end) unchanged from the last stack. */
struct found {
    unsigned count, run, end;
    bool is_run, other;
};

/* Discards the run of unchanged frames. */
static void
drop_run(struct hew_trace_walk *walk, struct found *found)
{
    for (; found->is_run && found->run < found->end && found->count < FRAMES; found->run++) {
        walk->newer[found->count++] = walk->frames[found->run];
    }
    found->is_run = false;
}

/* The step of the frame; if it is where it was in the last stack, it extends the run. */
HEW_INLINE const struct step *
meet(struct hew_trace_walk *walk, struct found *found, const struct hew_trace_start *now, unsigned *at)
{
    while (*at < FRAMES && walk->frames[*at].sp < now->sp) {
        (*at)++;
    }
    if (*at < FRAMES && walk->frames[*at].sp == now->sp && walk->frames[*at].step.pc == now->pc) {
        if (found->is_run && found->end != *at) {
            drop_run(walk, found);
        }
        found->run = found->is_run ? found->run : *at;
        found->is_run = true;
        found->end = *at + 1;
        return &walk->frames[(*at)++].step;
    }
    drop_run(walk, found);
    if (found->count == FRAMES) {
        return NULL;
    }
    walk->newer[found->count].sp = now->sp;
    walk->newer[found->count].step = *find_step(walk, now->pc);
    return &walk->newer[found->count++].step;
}

/* False: the walk left the known part of this stack.  `other`: a frame that only hew_unwind() can walk. */
static bool
find_frames(struct hew_trace_walk *walk, struct hew_trace_start now, bool fresh, struct found *found)
{
    unsigned at = walk->first;
    enum outcome outcome = GOES_ON;

    for (unsigned frames = 0; frames < FRAMES && outcome == GOES_ON; frames++) {
        const struct step *step = meet(walk, found, &now, &at);
        if (step == NULL) {
            break;
        }
        if (HEW_UNLIKELY(step->kind >= STEP_NOWHERE)) {
            found->other = step->kind == STEP_OTHER;
            found->count -= step->kind == STEP_NOWHERE;
            break;
        }
        outcome = take_step(walk, step, &now, fresh);
    }
    if (fresh && walk->top < now.sp) {
        walk->top = now.sp;
    }
    if (found->end != FRAMES) {
        drop_run(walk, found);
    }
    return outcome != UNKNOWN;
}

static uint32_t
node_below(const struct hew_trace_walk *walk, uint32_t parent, uintptr_t pc)
{
    uint32_t node;

    if (pc - walk->own_begin < walk->own_end - walk->own_begin) {
        return parent;
    }
    node = hew_trace_tree_child(parent, pc);
    return node == 0 ? parent : node;
}

/* Uses hew_unwind(), which tracks all registers; the result is not cached. */
static uint32_t
walk_in_full(struct hew_trace_walk *walk, uintptr_t inner)
{
    unsigned count = hew_unwind(walk->addresses, FRAMES, inner);
    uint32_t node = hew_python_node(walk->python, walk->addresses, count);

    walk->first = FRAMES;
    while (node == 0 && count > 0) {
        for (; count > 0; count--) {
            node = node_below(walk, node, walk->addresses[count - 1]);
        }
    }
    return node;
}

/* The node with Python frames; 0: there are none. */
static uint32_t
node_with_python(struct hew_trace_walk *walk)
{
    unsigned count = 0;

    for (unsigned i = walk->first; i < FRAMES; i++) {
        uintptr_t pc = walk->frames[i].step.pc;
        walk->addresses[count] = pc;
        count += pc - walk->own_begin >= walk->own_end - walk->own_begin;
    }
    return hew_python_node(walk->python, walk->addresses, count);
}

/* Creates nodes for the frames that have none: the `fresh` innermost ones are new. */
static uint32_t
node_of_frames(struct hew_trace_walk *walk, unsigned fresh)
{
    unsigned named = walk->unnamed ? FRAMES : walk->first + fresh;
    uint32_t node = named < FRAMES ? walk->frames[named].node : 0;

    while (named > walk->first) {
        struct frame *frame = &walk->frames[--named];
        frame->node = node = node_below(walk, node, frame->step.pc);
    }
    walk->unnamed = false;
    return node;
}

uint32_t
hew_trace_walk(struct hew_trace_walk *walk, struct hew_trace_start start)
{
    struct found found = {0};
    uint64_t now = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
    unsigned at;
    uint32_t node;

    if (HEW_UNLIKELY(walk->unloads != now)) {
        walk->unloads = now;
        hew_trace_walk_forget(walk);
    }
    if (!find_frames(walk, start, false, &found)) {
        uintptr_t top = walk->top;
        hew_trace_walk_forget(walk); /* look up all rules again: they determine how far the stack reaches */
        walk->top = top;
        found = (struct found){0};
        find_frames(walk, start, true, &found);
    }
    if (HEW_UNLIKELY(found.other)) {
        return walk_in_full(walk, start.sp);
    }
    at = found.is_run ? found.run : FRAMES;
    for (unsigned i = found.count; i > 0; i--) {
        walk->frames[--at] = walk->newer[i - 1];
    }
    walk->first = at;
    node = node_with_python(walk);
    if (node != 0) {
        walk->unnamed = true;
        return node;
    }
    return node_of_frames(walk, found.count);
}
