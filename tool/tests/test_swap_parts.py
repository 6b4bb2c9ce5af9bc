# SPDX-License-Identifier: MIT
"""Parts of `hew swap`: how first instructions move, and what a stack says."""

import struct

import pytest

from hew.sources.attach.looks import FRAME_CS, USER_CODE_64, has_frame
from hew.sources.swap.instructions import Unknown, decode, moved, place_of_jump, returns_into


def test_what_a_stack_keeps_of_a_past_handler_is_no_handler() -> None:
    restorer, frame = 0x7000_1000, bytearray(4096)
    assert not has_frame(bytes(frame), frozenset({restorer}))
    struct.pack_into("<Q", frame, 1000, restorer)
    assert not has_frame(bytes(frame), frozenset({restorer})), "the rest of it was overwritten"
    struct.pack_into("<H", frame, 1000 + FRAME_CS, USER_CODE_64)
    assert has_frame(bytes(frame), frozenset({restorer}))
    assert not has_frame(bytes(frame), frozenset({restorer + 1}))
    assert has_frame(bytes(frame[: 1000 + FRAME_CS]), frozenset({restorer})), "the rest of it was not read"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("415455534889fb", "4154555348"),  # push r12; push rbp; push rbx; mov rbx, rdi
        ("488d0510000000c3", "488d05"),  # lea rax, [rip+16]
        ("803d460b140000750a", "803d"),  # cmp byte [rip+..], 0
    ],
)
def test_first_instructions_move(code: str, expected: str) -> None:
    assert moved(bytes.fromhex(code), 0x1000, 0x9000).hex().startswith(expected)


def test_what_counts_from_its_place_reaches_the_same_address_from_another() -> None:
    code = bytes.fromhex("488d0510000000" + "90" * 8)  # lea rax, [rip+16]
    there = moved(code, 0x1000, 0x9000)
    assert struct.unpack_from("<i", there, 3)[0] == 0x1000 + 7 + 16 - (0x9000 + 7)
    assert struct.unpack_from("<i", there, 8)[0] == 0x1000 + 7 - (0x9000 + 12)
    short = bytes.fromhex("4885ff742b488b4ff8")  # test rdi, rdi; je +43
    there = moved(short, 0x1000, 0x9000)
    assert there[3:5] == b"\x0f\x84"
    assert struct.unpack_from("<i", there, 5)[0] == 0x1000 + 5 + 43 - (0x9000 + 9)


def test_what_is_not_known_does_not_move() -> None:
    for code in ("e810000000", "c3", "ff2500000000", "48", "0f0b9090909090"):
        with pytest.raises(Unknown):
            moved(bytes.fromhex(code), 0x1000, 0x9000)
    assert len(decode(bytes.fromhex("f30f1efa")).data) == place_of_jump(bytes.fromhex("f30f1efa90")) == 4
    assert returns_into(bytes.fromhex("905390909090ebf9"), 0)  # jmp to its second byte
    assert not returns_into(bytes.fromhex("905390909090ebf8"), 0)  # to its first
