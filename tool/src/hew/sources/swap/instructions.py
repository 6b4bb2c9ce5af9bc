# SPDX-License-Identifier: MIT
"""Moves the first instructions of a function, so that a jump has room in their place (x86-64).

Promises  an instruction that is not known here is never moved: Unknown says so. Whatever depends on its place (a jump,
          an operand relative to it) reaches the same address from the new place.
"""

import struct

from hew.model.lazy_dataclass import dataclass

JUMP = 5  # bytes of a jump with a 32-bit distance
ADD_ONE, ADD_BYTES = b"\x48\xff\x05", 7  # inc qword [rip + distance]
ENDBR64 = b"\xf3\x0f\x1e\xfa"
PREFIXES = {0x66, 0xF2, 0xF3, 0x64, 0x65}
REX, REX_W = range(0x40, 0x50), 8
MODRM = {0x63, *range(0x84, 0x8C), 0x8D, *(row + column for row in range(0, 0x40, 8) for column in range(4))}
MODRM_8 = {0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6}
MODRM_32 = {0x69, 0x81, 0xC7}
MODRM_0F = {0x10, 0x11, 0x1E, 0x1F, 0x28, 0x29, 0x57, 0x6E, 0x6F, 0x7E, 0x7F, 0xAF, 0xB6, 0xB7, 0xBE, 0xBF, 0xD6, 0xEF}
MODRM_0F |= {*range(0x40, 0x50), *range(0x90, 0xA0)}
SHORT_JUMPS, NEAR_JUMPS_0F = range(0x70, 0x80), range(0x80, 0x90)


class Unknown(Exception):  # noqa: N818 - it is an answer
    """The function begins with an instruction that is not moved."""


@dataclass(frozen=True)
class Instruction:
    """Its bytes; where in them a distance stands, which counts from the instruction's end; how wide that is."""

    data: bytes
    distance_at: int = 0
    distance_bytes: int = 0

    @property
    def distance(self) -> int:
        """To the address that it names."""
        raw = self.data[self.distance_at : self.distance_at + self.distance_bytes]
        return int.from_bytes(raw, "little", signed=True)

    @property
    def jumps(self) -> bool:
        """Whether the distance is a jump's."""
        return self.distance_bytes > 0 and self.distance_at + self.distance_bytes == len(self.data) and self._is_jump()

    def _is_jump(self) -> bool:
        return self.data[0] in {0xE9, 0xEB, *SHORT_JUMPS} or (
            self.data[0] == 0x0F and len(self.data) == 6 and self.data[1] in NEAR_JUMPS_0F
        )


def decode(code: bytes, at: int = 0) -> Instruction:
    """The instruction at a place. Unknown if it is not in the tables above, or does not end here."""
    place, rex = at, 0
    while place < len(code) and code[place] in PREFIXES:
        place += 1
    narrow = 0x66 in code[at:place]
    if place < len(code) and code[place] in REX:
        rex, place = code[place], place + 1
    try:
        found = _decode(code, at, place, rex, narrow)
    except IndexError:
        raise Unknown("its code ends in an instruction") from None
    if at + len(found.data) > len(code):
        raise Unknown("its code ends in an instruction")
    return found


def _decode(code: bytes, at: int, place: int, rex: int, narrow: bool) -> Instruction:
    """The instruction whose first byte behind all prefixes is at `place`."""
    first, after = code[place], place + 1
    wide = 2 if narrow else 4
    distance = _distance(code, place)
    if distance is not None:
        width, start = distance
        return Instruction(code[at : start + width], start - at, width)
    operand = _operand(code, place, wide)
    if operand is not None:
        immediate, start = operand
        return _with_operand(code, at, start, immediate)
    if first in range(0xB8, 0xC0):
        return Instruction(code[at : after + (8 if rex & REX_W else wide)])
    if first in range(0x50, 0x60) or first == 0x90:
        return Instruction(code[at:after])
    if first in {0xA8, 0xA9} or (first < 0x40 and first & 7 in {4, 5}):
        return Instruction(code[at : after + (wide if first & 1 else 1)])
    raise Unknown(f"its code begins with an instruction that is not moved ({code[at : at + 8].hex()})")


def _distance(code: bytes, place: int) -> tuple[int, int] | None:
    """How wide a jump's distance is, and where it stands; None for all else."""
    first = code[place]
    if first in SHORT_JUMPS or first == 0xEB:
        return 1, place + 1
    if first == 0xE9:
        return 4, place + 1
    return (4, place + 2) if first == 0x0F and code[place + 1] in NEAR_JUMPS_0F else None


def _operand(code: bytes, place: int, wide: int) -> tuple[int, int] | None:
    """For an instruction with a ModRM byte: how many bytes follow the operand, and where that byte is."""
    first, after = code[place], place + 1
    if first == 0x0F:
        return (0, after + 1) if code[after] in MODRM_0F else None
    kind = code[after] >> 3 & 7 if first in {0xF6, 0xF7, 0xFF} else 0
    immediate = {0xF6: 1, 0xF7: wide}.get(first)
    if immediate is not None:
        return (immediate if kind < 2 else 0), after
    if first in MODRM or (first == 0xFF and kind in {0, 1, 6}):
        return 0, after
    if first in MODRM_8:
        return 1, after
    return (wide, after) if first in MODRM_32 else None


def _with_operand(code: bytes, at: int, place: int, immediate: int) -> Instruction:
    """With a ModRM byte at `place`, and `immediate` bytes behind the operand."""
    mode, operand = code[place] >> 6, code[place] & 7
    after = place + 1
    if mode == 0 and operand == 5:
        return Instruction(code[at : after + 4 + immediate], after - at, 4)
    if mode != 3 and operand == 4:
        if mode == 0 and code[after] & 7 == 5:
            after += 4
        after += 1
    after += {0: 0, 1: 1, 2: 4, 3: 0}[mode]
    return Instruction(code[at : after + immediate])


def place_of_jump(code: bytes) -> int:
    """Where in a function the jump goes: at its start, or behind the mark for indirect branches."""
    return len(ENDBR64) if code.startswith(ENDBR64) else 0


def jump(source: int, target: int) -> bytes:
    """A jump from one address to another within 2 GiB."""
    return b"\xe9" + struct.pack("<i", target - source - JUMP)


def jump_far(target: int) -> bytes:
    """A jump to any address."""
    return b"\xff\x25" + bytes(4) + struct.pack("<Q", target)


def reaches(source: int, target: int) -> bool:
    """Whether a jump from here has room for the distance."""
    return abs(target - source) < (1 << 31) - 4096


def moved(code: bytes, source: int, target: int) -> bytes:
    """The instructions that a jump at `source` would replace, for the address `target`, with a jump to the rest."""
    found, at = b"", 0
    while at < JUMP:
        one = decode(code, at)
        found += _at(one, source + at, target + len(found))
        at += len(one.data)
        if one.data[0] in {0xE9, 0xEB} and at < JUMP:
            raise Unknown("its code is shorter than a jump")
    return found + jump(target + len(found), source + at)


def _at(one: Instruction, source: int, target: int) -> bytes:
    """The instruction at another address."""
    if not one.distance_bytes:
        return one.data
    aim = source + len(one.data) + one.distance
    if one.distance_bytes == 1:  # written with a wide distance
        head = b"\xe9" if one.data[0] == 0xEB else bytes([0x0F, one.data[0] + 0x10])
        return head + struct.pack("<i", aim - target - len(head) - 4)
    distance = struct.pack("<i", aim - target - len(one.data))
    return one.data[: one.distance_at] + distance + one.data[one.distance_at + 4 :]


def returns_into(code: bytes, place: int) -> bool:
    """Whether the function jumps back into the bytes that a jump at `place` would replace, as far as it is read."""
    at = 0
    while at < len(code):
        try:
            one = decode(code, at)
        except Unknown:
            return False
        at += len(one.data)
        if one.jumps and place < at + one.distance < place + JUMP:
            return True
    return False
