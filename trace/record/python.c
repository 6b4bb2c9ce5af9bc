/* SPDX-License-Identifier: MIT */
/*
 * python: see python.h.
 *
 * One native frame of the interpreter's loop runs several Python frames: from the innermost one outwards up to one that
 * is marked as its entry.
 */
#include "record/python.h"

#include "os/syscall.h"
#include "prof/cfi.h"
#include "record/file.h"
#include "record/names.h"
#include "record/next.h"
#include "record/pymalloc.h"
#include "record/tree.h"

#include <pthread.h>
#include <string.h>

#pragma weak pthread_self

#define FRAMES 512u
#define LG_NAMES 12
#define NAME_BYTES 512 /* of a function's or a file's name */

#define NO_FIELD UINT16_MAX
#define ON_C_STACK 3 /* an owner value: such a frame separates two runs of the loop, and belongs to no function */

/* Offsets of fields, from each version's headers, on 64-bit machines. */
struct layout {
    uint16_t version;
    uint16_t thread_frame, cframe_frame; /* in the thread state, or in a struct that it points to */
    uint16_t thread_id;
    uint16_t frame_code, frame_previous, frame_instruction;
    uint16_t frame_is_entry, frame_owner; /* a version has one of them */
    uint16_t code_first_line, code_file, code_name, code_lines, code_instructions;
    uint16_t text_ascii, text_compact; /* sizes of the headers before the characters */
};

static const struct layout layouts[] = {
    {0x030b, 56, 8, 152, 32, 48, 56, 68, NO_FIELD, 72, 112, 128, 136, 184, 48, 72},
    {0x030c, 56, 0, 136, 0, 8, 56, NO_FIELD, 70, 68, 112, 128, 136, 192, 40, 56},
    {0x030d, 72, NO_FIELD, 152, 0, 8, 56, NO_FIELD, 70, 68, 112, 128, 136, 200, 40, 56},
};
enum { TEXT_LENGTH = 16, TEXT_STATE = 32, BYTES_SIZE = 16, BYTES_FIRST = 32 }; /* the same in all versions */

static struct {
    const struct layout *layout; /* NULL: no supported interpreter; written last */
    uintptr_t code_type;
    void *(*this_thread)(void);     /* finds the thread's state, by pthread_getspecific() */
    uintptr_t loop_begin, loop_end; /* the function that runs frames */
    uintptr_t begin, end;           /* the file that contains it */
} python;

struct python_frame {
    uintptr_t code, instruction;
    bool is_entry;
};

struct known_name {
    uintptr_t code, instruction, function;
    uint64_t name;
};

struct hew_python_memory {
    unsigned count;
    uint64_t keys[2 * FRAMES]; /* of the last stack, outermost first */
    uint32_t nodes[2 * FRAMES];
    struct python_frame frames[FRAMES]; /* innermost first */
    struct known_name names[1u << LG_NAMES];
};

size_t
hew_python_memory_size(void)
{
    return sizeof(struct hew_python_memory);
}

void
hew_python_forget(struct hew_python_memory *memory)
{
    memory->count = 0;
    for (unsigned i = 0; i < 1u << LG_NAMES; i++) {
        memory->names[i].code = 0;
    }
}

/* Interposes Python's allocators if every allocation gets a stack and the interpreter has not started: no thread can be
 * reading its table of allocators. */
static void
take_objects(void)
{
    int (*has_begun)(void);

    *(void **)&has_begun = hew_next_of_program("Py_IsInitialized");
    if (has_begun != NULL && !has_begun() && hew_trace_shared.until_ns == 0 && hew_trace_settings.stack_sampling == 1) {
        hew_pymalloc_take();
    }
}

void
hew_python_meet(const struct hew_os_object *object)
{
    const unsigned long *version;
    uintptr_t loop;

    if (python.layout != NULL || (object->path[0] != '\0' && strstr(object->path, "python") == NULL)) {
        return;
    }
    version = hew_next_of_program("Py_Version");
    loop = (uintptr_t)hew_next_of_program("_PyEval_EvalFrameDefault");
    if (version == NULL || loop - object->begin >= object->end - object->begin || object->unwind_index == NULL ||
        !hew_cfi_function(object->unwind_index, loop, &python.loop_begin, &python.loop_end)) {
        return;
    }
    *(void **)&python.this_thread = hew_next_of_program("PyGILState_GetThisThreadState");
    python.code_type = (uintptr_t)hew_next_of_program("PyCode_Type");
    python.begin = object->begin;
    python.end = object->end;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
        if (layouts[i].version == *version >> 16 && python.this_thread != NULL && python.code_type != 0 &&
            pthread_self != NULL) {
            __atomic_store_n(&python.layout, &layouts[i], __ATOMIC_RELEASE);
            take_objects();
        }
    }
}

static uintptr_t
word_at(uintptr_t object, uint16_t field)
{
    return *(const uintptr_t *)(object + field);
}

static uint32_t
half_at(uintptr_t object, uint16_t field)
{
    return *(const uint32_t *)(object + field);
}

/* Stores the thread's Python frames, innermost first; returns how many. */
static unsigned
find_frames(const struct layout *layout, struct python_frame *frames)
{
    uintptr_t state = (uintptr_t)python.this_thread(), frame = 0, code;
    unsigned count = 0;

    if (state != 0 && word_at(state, layout->thread_id) == (uintptr_t)pthread_self()) {
        frame = word_at(state, layout->thread_frame);
        frame = frame == 0 || layout->cframe_frame == NO_FIELD ? frame : word_at(frame, layout->cframe_frame);
    }
    for (; frame != 0 && count < FRAMES; frame = word_at(frame, layout->frame_previous)) {
        if (layout->frame_owner != NO_FIELD && *(const uint8_t *)(frame + layout->frame_owner) == ON_C_STACK) {
            frames[count > 0 ? count - 1 : 0].is_entry = true;
            continue;
        }
        code = word_at(frame, layout->frame_code);
        if (code == 0 || word_at(code, sizeof(uintptr_t)) != python.code_type) {
            break;
        }
        frames[count++] = (struct python_frame){code, word_at(frame, layout->frame_instruction),
                                                layout->frame_is_entry != NO_FIELD &&
                                                    *(const uint8_t *)(frame + layout->frame_is_entry) != 0};
    }
    return count;
}

/* Writes one character as UTF-8. */
static size_t
put_character(char *to, uint32_t character)
{
    if (character < 0x80) {
        to[0] = character < ' ' || character == 0x7f ? '?' : (char)character;
        return 1;
    }
    if (character < 0x800) {
        to[0] = (char)(0xc0 | character >> 6);
        to[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        to[0] = (char)(0xe0 | character >> 12);
        to[1] = (char)(0x80 | (character >> 6 & 0x3f));
        to[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | character >> 18);
    to[1] = (char)(0x80 | (character >> 12 & 0x3f));
    to[2] = (char)(0x80 | (character >> 6 & 0x3f));
    to[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

/* Copies a str; a long one loses its beginning.  `to` has NAME_BYTES + 1. */
static void
copy_text(const struct layout *layout, uintptr_t text, char *to)
{
    size_t used = 0, length, from;
    uint32_t state;
    unsigned width;

    if (text != 0) {
        state = half_at(text, TEXT_STATE);
        width = state >> 2 & 7; /* bytes of a character; the lower bits: interned; the higher bits: compact, ascii */
        length = word_at(text, TEXT_LENGTH);
        text += (state >> 6 & 1) != 0 ? layout->text_ascii : layout->text_compact;
        from = length > NAME_BYTES / 4 && width > 1 ? length - NAME_BYTES / 4
               : length > NAME_BYTES / 2            ? length - NAME_BYTES / 2
                                                    : 0;
        for (size_t i = from; (state >> 5 & 1) != 0 && i < length; i++) {
            used += put_character(to + used, width == 1   ? ((const uint8_t *)text)[i]
                                             : width == 2 ? ((const uint16_t *)text)[i]
                                                          : ((const uint32_t *)text)[i]);
        }
    }
    to[used] = '\0';
}

struct lines {
    const uint8_t *at, *end;
};

/* Reads a number in groups of six bits, lowest first. */
static uint32_t
take_number(struct lines *lines)
{
    uint32_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = lines->at < lines->end ? *lines->at++ : 0;
        value |= shift < 30 ? (byte & 0x3f) << shift : 0;
        shift += 6;
    } while ((byte & 0x40) != 0);
    return value;
}

static int
take_signed(struct lines *lines)
{
    uint32_t value = take_number(lines);

    return (value & 1) != 0 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* Reads the location table of PEP 657: each entry has a length in instructions and a change of the line. */
static int
line_of(const struct layout *layout, uintptr_t code, uintptr_t instruction)
{
    uintptr_t table = word_at(code, layout->code_lines);
    const uint8_t *first = (const uint8_t *)(table + BYTES_FIRST);
    struct lines lines = {first, table == 0 ? first : first + word_at(table, BYTES_SIZE)};
    uintptr_t unit = (instruction - (code + layout->code_instructions)) / 2, passed = 0;
    int line = (int)half_at(code, layout->code_first_line);

    if (instruction < code + layout->code_instructions) {
        return line; /* the function has not started */
    }
    while (lines.at < lines.end) {
        unsigned entry = *lines.at++, kind = entry >> 3 & 15;
        bool nowhere = kind == 15;
        passed += (entry & 7) + 1;
        if (kind == 14) {
            line += take_signed(&lines);
            take_number(&lines);
            take_number(&lines);
            take_number(&lines);
        } else if (kind == 13) {
            line += take_signed(&lines);
        } else if (kind >= 10 && kind <= 12) {
            line += (int)kind - 10;
            lines.at += 2;
        } else if (kind < 10) {
            lines.at++;
        }
        if (unit < passed) {
            return nowhere ? (int)half_at(code, layout->code_first_line) : line;
        }
    }
    return line;
}

/* The key of a frame: the number of its name, with a flag that distinguishes it from addresses. */
static uint64_t
name_of(const struct layout *layout, struct hew_python_memory *memory, const struct python_frame *frame)
{
    struct known_name *known =
        &memory->names[((frame->code ^ frame->instruction << 3) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - LG_NAMES)];
    uintptr_t function = word_at(frame->code, layout->code_name);
    char names[2][NAME_BYTES + 1];

    /* Another function may now be at the same address. */
    if (known->code != frame->code || known->instruction != frame->instruction || known->function != function) {
        copy_text(layout, function, names[0]);
        copy_text(layout, word_at(frame->code, layout->code_file), names[1]);
        known->name = hew_trace_name(names[0], names[1], line_of(layout, frame->code, frame->instruction));
        known->code = frame->code;
        known->instruction = frame->instruction;
        known->function = function;
    }
    return known->name;
}

/* A stack under construction, outermost frame first.  The part it shares with the last stack has the same nodes. */
struct stack {
    struct hew_python_memory *memory;
    unsigned count;
    bool differs;
    uint32_t node;
};

static void
add(struct stack *stack, uint64_t key)
{
    struct hew_python_memory *memory = stack->memory;
    uint32_t node;

    if (stack->count == 2 * FRAMES || key == 0) {
        return;
    }
    stack->differs = stack->differs || stack->count >= memory->count || memory->keys[stack->count] != key;
    if (stack->differs) {
        node = hew_trace_tree_child(stack->node, key);
        memory->keys[stack->count] = key;
        memory->nodes[stack->count] = node == 0 ? stack->node : node;
    }
    stack->node = memory->nodes[stack->count++];
}

static bool
is_loop(uintptr_t address)
{
    return address - 1 - python.loop_begin < python.loop_end - python.loop_begin;
}

/* Adds the Python frames that one native frame of the loop runs: those before `left`, which moves to the innermost of
 * them. */
static void
add_run(struct stack *stack, const struct layout *layout, unsigned *left)
{
    const struct python_frame *frames = stack->memory->frames;

    while (*left > 0) {
        (*left)--;
        add(stack, name_of(layout, stack->memory, &frames[*left]));
        if (*left > 0 && frames[*left - 1].is_entry) {
            return;
        }
    }
}

uint32_t
hew_python_node(struct hew_python_memory *memory, const uintptr_t *addresses, unsigned count)
{
    const struct layout *layout = __atomic_load_n(&python.layout, __ATOMIC_ACQUIRE);
    unsigned left = layout == NULL ? 0 : find_frames(layout, memory->frames), runs = 0, loops = 0;
    struct stack stack = {.memory = memory};

    if (left == 0) {
        return 0;
    }
    for (unsigned i = 0; i < left; i++) {
        runs += memory->frames[i].is_entry;
    }
    for (unsigned i = 0; i < count; i++) {
        loops += is_loop(addresses[i]);
    }
    for (; runs > loops; runs--) { /* the native stack was cut, or the loop left its first part */
        add_run(&stack, layout, &left);
    }
    while (count-- > 0) {
        if (is_loop(addresses[count])) {
            if (loops-- <= runs) {
                add_run(&stack, layout, &left);
            }
        } else if (addresses[count] - python.begin >= python.end - python.begin) {
            add(&stack, addresses[count]);
        }
    }
    memory->count = stack.count;
    return stack.node;
}
