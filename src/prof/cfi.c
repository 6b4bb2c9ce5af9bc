/* SPDX-License-Identifier: MIT */
#include "prof/cfi.h"

#include <string.h>

/* Pointer encodings: the low four bits are the format, the next three are the base. */
enum { PE_ABSOLUTE = 0, PE_ULEB = 1, PE_UDATA2 = 2, PE_UDATA4 = 3, PE_UDATA8 = 4, PE_SDATA4 = 0xb, PE_SDATA8 = 0xc };
enum { PE_HERE = 0x10, PE_INDEX_TABLE = 0x3b, PE_OMITTED = 0xff };

#define SAVED_STATES 8

struct reader {
    const uint8_t *at, *end;
};

struct common { /* data that several functions of one compilation unit share */
    struct reader program;
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t pointers;
    bool has_data, signal;
};

struct state {
    uint64_t base; /* a DWARF register */
    int64_t offset;
    bool indirect, unknown;
    uint16_t by_frame;
    int64_t saved[HEW_KEPT];
};

struct machine {
    struct state now, initial, stack[SAVED_STATES];
    unsigned depth;
    uintptr_t location;
};

static uint64_t
take_bytes(struct reader *reader, unsigned count)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < count) {
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, count);
    reader->at += count;
    return value;
}

/* Reads a LEB128 number; *sign: the bit above it if it is negative, else 0. */
static uint64_t
take_leb(struct reader *reader, uint64_t *sign)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)take_bytes(reader, 1);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while ((byte & 0x80) != 0);
    *sign = shift < 64 && (byte & 0x40) != 0 ? UINT64_C(1) << shift : 0;
    return value;
}

static uint64_t
take_uleb(struct reader *reader)
{
    uint64_t sign;
    return take_leb(reader, &sign);
}

static int64_t
take_sleb(struct reader *reader)
{
    uint64_t sign, value = take_leb(reader, &sign);
    return (int64_t)(value | -sign);
}

/* Reads a pointer, relative to its own address if its encoding says so.  Other bases do not occur here. */
static uintptr_t
take_pointer(struct reader *reader, uint8_t encoding)
{
    uintptr_t here = (uintptr_t)reader->at, value;
    switch (encoding & 0x0f) {
    case PE_ULEB:
        value = take_uleb(reader);
        break;
    case PE_UDATA2:
        value = take_bytes(reader, 2);
        break;
    case PE_UDATA4:
        value = take_bytes(reader, 4);
        break;
    case PE_SDATA4:
        value = (uintptr_t)(int64_t)(int32_t)take_bytes(reader, 4);
        break;
    default:
        value = take_bytes(reader, 8);
    }
    return (encoding & 0x70) == PE_HERE ? here + value : value;
}

/* Reads the augmentation data of a CIE, letter by letter.  False: an unknown letter. */
static bool
read_augmentation(struct reader *reader, const char *letters, struct common *common)
{
    if (*letters == '\0') {
        return true;
    }
    if (*letters != 'z') {
        return false;
    }
    common->has_data = true;
    uint64_t length = take_uleb(reader);
    struct reader data = {reader->at, reader->at + length};
    for (letters++; *letters != '\0'; letters++) {
        if (*letters == 'R') {
            common->pointers = (uint8_t)take_bytes(&data, 1);
        } else if (*letters == 'P') {
            uint8_t encoding = (uint8_t)take_bytes(&data, 1);
            take_pointer(&data, encoding);
        } else if (*letters == 'L') {
            take_bytes(&data, 1);
        } else if (*letters == 'S') {
            common->signal = true;
        } else if (*letters != 'B') {
            return false;
        }
    }
    reader->at += length;
    return true;
}

static bool
read_common(const uint8_t *at, struct common *common)
{
    uint32_t length;
    memcpy(&length, at, sizeof length);
    struct reader reader = {at + 8, at + 4 + length};
    memset(common, 0, sizeof *common);
    uint8_t version = (uint8_t)take_bytes(&reader, 1);
    if ((version != 1 && version != 3) || length == UINT32_MAX) {
        return false;
    }
    const char *letters = (const char *)reader.at;
    reader.at += strlen(letters) + 1;
    common->code_unit = take_uleb(&reader);
    common->data_unit = take_sleb(&reader);
    (void)(version == 1 ? take_bytes(&reader, 1) : take_uleb(&reader)); /* return address: fixed by the ABI */
    if (!read_augmentation(&reader, letters, common)) {
        return false;
    }
    common->program = reader;
    return true;
}

static void
save_at(struct state *state, uint64_t dwarf, int64_t place)
{
    int index = hew_registers_index(dwarf);
    if (index >= 0) {
        state->saved[index] = place;
        state->by_frame &= (uint16_t)~(1u << index);
    }
}

/* An expression for a saved register: frame pointer + constant, used by functions that realign their stack. */
static void
save_by_expression(struct state *state, uint64_t dwarf, struct reader *reader)
{
    uint64_t length = take_uleb(reader);
    struct reader expression = {reader->at, reader->at + length};
    reader->at += length;
    uint64_t base = take_bytes(&expression, 1) - 0x70; /* DW_OP_breg0 */
    int64_t place = take_sleb(&expression);
    bool known = base < 32 && hew_registers_index(base) == HEW_KEPT_FRAME && expression.at == expression.end;
    int index = hew_registers_index(dwarf);
    save_at(state, dwarf, known ? place : HEW_CFI_LOST);
    state->by_frame |= (uint16_t)(known && index >= 0 ? 1u << index : 0);
}

/* An expression for the CFA: the value stored at register + constant. */
static void
define_by_expression(struct state *state, struct reader *reader)
{
    uint64_t length = take_uleb(reader);
    struct reader expression = {reader->at, reader->at + length};
    reader->at += length;
    state->base = take_bytes(&expression, 1) - 0x70;
    state->offset = take_sleb(&expression);
    uint8_t deref = (uint8_t)take_bytes(&expression, 1);
    state->indirect = true;
    state->unknown = deref != 0x06 || expression.at != expression.end;
}

static void
define(struct state *state, uint64_t base, int64_t offset)
{
    state->base = base;
    state->offset = offset;
    state->indirect = state->unknown = false;
}

static void
restore(struct machine *machine, uint64_t dwarf)
{
    int index = hew_registers_index(dwarf);
    if (index >= 0) {
        machine->now.saved[index] = machine->initial.saved[index];
        machine->now.by_frame &= (uint16_t)~(1u << index);
    }
}

/* Instructions that advance the location.  False: another instruction. */
static bool
run_advance(struct machine *machine, const struct common *common, uint8_t code, struct reader *reader)
{
    if (code >> 6 == 1) {
        machine->location += (code & 0x3f) * common->code_unit;
    } else if (code == 0x01) {
        machine->location = take_pointer(reader, common->pointers);
    } else if (code >= 0x02 && code <= 0x04) {
        machine->location += take_bytes(reader, 1u << (code - 2)) * common->code_unit;
    } else {
        return false;
    }
    return true;
}

/* Instructions with a register operand.  False: another instruction. */
static bool
run_register(struct machine *machine, const struct common *common, uint8_t code, struct reader *reader)
{
    struct state *state = &machine->now;
    bool takes_register = (code >= 0x05 && code <= 0x09) || code == 0x0c || (code >= 0x10 && code <= 0x12) ||
                          code == 0x14 || code == 0x15 || code == 0x16 || code == 0x2f;
    if (!takes_register) {
        return false;
    }
    uint64_t dwarf = take_uleb(reader);
    switch (code) {
    case 0x05: /* offset_extended */
        save_at(state, dwarf, (int64_t)take_uleb(reader) * common->data_unit);
        break;
    case 0x06:
        restore(machine, dwarf);
        break;
    case 0x07: /* undefined */
        save_at(state, dwarf, HEW_CFI_LOST);
        break;
    case 0x08: /* same_value */
        save_at(state, dwarf, HEW_CFI_SAME);
        break;
    case 0x0c: /* def_cfa */
        define(state, dwarf, (int64_t)take_uleb(reader));
        break;
    case 0x10:
        save_by_expression(state, dwarf, reader);
        break;
    case 0x11: /* offset_extended_sf */
        save_at(state, dwarf, take_sleb(reader) * common->data_unit);
        break;
    case 0x12: /* def_cfa_sf */
        define(state, dwarf, take_sleb(reader) * common->data_unit);
        break;
    case 0x2f: /* GNU_negative_offset_extended */
        save_at(state, dwarf, -(int64_t)take_uleb(reader) * common->data_unit);
        break;
    case 0x16: { /* val_expression */
        uint64_t length = take_uleb(reader);
        reader->at += length;
        save_at(state, dwarf, HEW_CFI_LOST);
        break;
    }
    default: /* saved in another register, or a computed value */
        take_uleb(reader);
        save_at(state, dwarf, HEW_CFI_LOST);
    }
    return true;
}

/* All other instructions.  False: an unknown one. */
static bool
run_other(struct machine *machine, const struct common *common, uint8_t code, struct reader *reader)
{
    struct state *state = &machine->now;
    switch (code) {
    case 0x00: /* nop */
    case 0x2c: /* pointer authentication on aarch64: the address is stripped in any case */
    case 0x2d:
        return true;
    case 0x0a: /* remember_state */
        if (machine->depth == SAVED_STATES) {
            return false;
        }
        machine->stack[machine->depth++] = *state;
        return true;
    case 0x0b: /* restore_state */
        if (machine->depth == 0) {
            return false;
        }
        *state = machine->stack[--machine->depth];
        return true;
    case 0x0d: /* def_cfa_register */
        define(state, take_uleb(reader), state->offset);
        return true;
    case 0x0e: /* def_cfa_offset */
        state->offset = (int64_t)take_uleb(reader);
        return true;
    case 0x0f:
        define_by_expression(state, reader);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        state->offset = take_sleb(reader) * common->data_unit;
        return true;
    case 0x2e: /* GNU_args_size */
        take_uleb(reader);
        return true;
    default:
        return false;
    }
}

/* Runs `program` up to the instruction that advances past `pc`. */
static bool
run(struct machine *machine, const struct common *common, struct reader program, uintptr_t pc)
{
    while (program.at < program.end) {
        uint8_t code = (uint8_t)take_bytes(&program, 1);
        if (run_advance(machine, common, code, &program)) {
            if (machine->location > pc) {
                return true;
            }
        } else if (code >> 6 == 2) { /* offset */
            save_at(&machine->now, code & 0x3f, (int64_t)take_uleb(&program) * common->data_unit);
        } else if (code >> 6 == 3) {
            restore(machine, code & 0x3f);
        } else if (!run_register(machine, common, code, &program) && !run_other(machine, common, code, &program)) {
            return false;
        }
    }
    return true;
}

static bool
to_rule(const struct state *state, bool signal, struct hew_cfi_rule *rule)
{
    int base = state->base == HEW_DWARF_STACK ? HEW_CFI_STACK : hew_registers_index(state->base);
    if (!signal && (state->unknown || base < 0 || state->offset > INT32_MAX || state->offset < INT32_MIN)) {
        return false;
    }
    rule->base = (uint8_t)base;
    rule->offset = (int32_t)state->offset;
    rule->indirect = state->indirect;
    rule->by_frame = state->by_frame;
    rule->signal = signal;
    for (unsigned i = 0; i < HEW_KEPT; i++) {
        int64_t place = state->saved[i];
        rule->saved[i] = place > HEW_CFI_SAME || place < HEW_CFI_LOST ? HEW_CFI_LOST : (int16_t)place;
    }
    return true;
}

/* The last entry of the sorted table whose function begins at or before pc; NULL when there is none. */
static const uint8_t *
find_entry(const uint8_t *index, uintptr_t pc)
{
    if (index[0] != 1 || index[1] == PE_OMITTED || index[2] != PE_UDATA4 || index[3] != PE_INDEX_TABLE) {
        return NULL;
    }
    struct reader reader = {index + 4, index + 64};
    take_pointer(&reader, index[1]);
    size_t low = 0, high = take_bytes(&reader, 4);
    const int32_t(*table)[2] = (const int32_t(*)[2])reader.at;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)index + (uintptr_t)(intptr_t)table[middle][0] <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? NULL : index + table[low - 1][1];
}

/* An entry of .eh_frame: its shared part, the code it covers, and the reader positioned after these. */
struct entry {
    struct common common;
    struct reader reader;
    uintptr_t begin, length;
};

/* False: no entry covers `pc`. */
static bool
read_entry(const uint8_t *index, uintptr_t pc, struct entry *entry)
{
    const uint8_t *at = find_entry(index, pc);
    uint32_t head[2]; /* length, distance back to the CIE */
    if (at == NULL) {
        return false;
    }
    memcpy(head, at, sizeof head);
    if (head[0] == UINT32_MAX || !read_common(at + 4 - head[1], &entry->common)) {
        return false;
    }
    entry->reader = (struct reader){at + 8, at + 4 + head[0]};
    entry->begin = take_pointer(&entry->reader, entry->common.pointers);
    entry->length = take_pointer(&entry->reader, entry->common.pointers & 0x0f);
    return pc >= entry->begin && pc - entry->begin < entry->length;
}

bool
hew_cfi_function(const uint8_t *index, uintptr_t pc, uintptr_t *begin, uintptr_t *end)
{
    struct entry entry;
    if (!read_entry(index, pc, &entry)) {
        return false;
    }
    *begin = entry.begin;
    *end = entry.begin + entry.length;
    return true;
}

bool
hew_cfi_find(const uint8_t *index, uintptr_t pc, struct hew_cfi_rule *rule)
{
    struct entry entry;
    if (!read_entry(index, pc, &entry)) {
        return false;
    }
    if (entry.common.has_data) {
        uint64_t bytes = take_uleb(&entry.reader);
        entry.reader.at += bytes;
    }
    struct machine machine;
    memset(&machine.now, 0, sizeof machine.now);
    for (unsigned i = 0; i < HEW_KEPT; i++) {
        machine.now.saved[i] = HEW_CFI_SAME;
    }
    machine.depth = 0;
    machine.location = entry.begin;
    bool good = run(&machine, &entry.common, entry.common.program, UINTPTR_MAX);
    machine.initial = machine.now;
    machine.location = entry.begin;
    return good && run(&machine, &entry.common, entry.reader, pc) && to_rule(&machine.now, entry.common.signal, rule);
}
