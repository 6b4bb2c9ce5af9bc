# SPDX-License-Identifier: MIT
"""The code that the thread executes for us, and the memory that it uses.

    base    CODE    the code below, readable and executable
            BLOCK   what it is told, and a signal frame of the thread as it was
            STACK   of the call
            BUFFER  the report

The code counts the arenas that are used, has malloc_stats_print write by `append`, and ends as a signal handler ends,
by rt_sigreturn with that frame. There the tracer takes over. If it has died, the thread goes on as it was by itself.
"""

import struct

from hew.model.lazy_dataclass import dataclass
from hew.sources.attach.kernel import Registers

PAGE = 4096
CODE_BYTES, BLOCK_BYTES, STACK_BYTES, BUFFER_BYTES = PAGE, 20 * PAGE, 64 * PAGE, 8 << 20
TOTAL = CODE_BYTES + BLOCK_BYTES + STACK_BYTES + BUFFER_BYTES
CODE = bytes.fromhex(
    "488b3b"  # entry: mov rdi, [rbx]
    "488d7328"  # lea rsi, [rbx+40]
    "488d5330"  # lea rdx, [rbx+48]
    "31c9"  # xor ecx, ecx
    "4531c0"  # xor r8d, r8d
    "ff5308"  # call [rbx+8]
    "4531e4"  # xor r12d, r12d
    "4531ed"  # xor r13d, r13d
    "443b6328"  # arena: cmp r12d, [rbx+40]
    "733d"  # jae print
    "488b7b58"  # mov rdi, [rbx+88]
    "488d7360"  # lea rsi, [rbx+96]
    "488d5368"  # lea rdx, [rbx+104]
    "31c9"  # xor ecx, ecx
    "4531c0"  # xor r8d, r8d
    "ff5308"  # call [rbx+8]
    "85c0"  # test eax, eax
    "7509"  # jne number
    "807b6001"  # cmp byte [rbx+96], 0x1
    "7503"  # jne number
    "41ffc5"  # inc r13d
    "488b7b58"  # number: mov rdi, [rbx+88]
    "4883c709"  # add rdi, 0x9
    "fe07"  # digit: inc byte [rdi]
    "803f3a"  # cmp byte [rdi], 0x3a
    "7508"  # jne another
    "c60730"  # mov byte [rdi], 0x30
    "48ffcf"  # dec rdi
    "ebf1"  # jmp digit
    "41ffc4"  # another: inc r12d
    "ebbd"  # jmp arena
    "4c896b70"  # print: mov [rbx+112], r13
    "488b5318"  # mov rdx, [rbx+24]
    "4183fd18"  # cmp r13d, 0x18
    "7704"  # ja many
    "488b5310"  # mov rdx, [rbx+16]
    "488d3d12000000"  # many: lea rdi, [rip+append]
    "488d7338"  # lea rsi, [rbx+56]
    "ff5320"  # call [rbx+32]
    "488b6350"  # mov rsp, [rbx+80]
    "b80f000000"  # mov eax, 0xf
    "0f05"  # syscall
    "f30f1efa"  # append: endbr64
    "488b07"  # mov rax, [rdi]
    "488b5708"  # mov rdx, [rdi+0x8]
    "8a0e"  # next: mov cl, byte [rsi]
    "84c9"  # test cl, cl
    "7417"  # je done
    "4839d0"  # cmp rax, rdx
    "730a"  # jae full
    "8808"  # mov byte [rax], cl
    "48ffc0"  # inc rax
    "48ffc6"  # inc rsi
    "ebeb"  # jmp next
    "48c7471001000000"  # full: mov [rdi+0x10], 0x1
    "488907"  # done: mov [rdi], rax
    "c3"  # ret
)
RETURN = 0x87  # behind the system call with which the code ends
# Offsets in the block: what the code above has by rbx.
CURSOR = 56  # where the next character goes, where the buffer ends, whether something had no room
ARENAS = 112  # how many have been used
WORDS = struct.Struct("<15Q")
TEXTS, FRAME, VECTOR = 128, 512, 1024
# JSON without extents, of which no rule asks; without the arenas one by one where more than 24 are used: each takes up
# to a third of a millisecond.
TEXT_WORDS = (b"arenas.narenas\0", b"arena.0000.initialized\0", b"Je\0", b"Jae\0")
# struct ucontext. The alternate stack is refused for its flags, so that the thread keeps the one it has.
UC_FLAGS = 7  # the vector state is there; so is ss, and it is taken as it is
NO_STACK = struct.pack("<QiiQ", 0, 0x7FFFFFFF, 0, 0)
GENERAL = "r8 r9 r10 r11 r12 r13 r14 r15 rdi rsi rbp rbx rdx rax rcx rsp rip eflags"
XSTATE_WORDS = 464  # of the vector state: the kernel checks it before it restores the rest
MAGIC_FIRST, MAGIC_LAST = 0x46505853, 0x46505845
RESTARTS = {2**64 - 512, 2**64 - 513, 2**64 - 514}
RESTART_BLOCK, INTERRUPTED = 2**64 - 516, 2**64 - 4


@dataclass(frozen=True)
class Functions:
    """Addresses in the process: of a syscall instruction, and of the allocator's functions."""

    gadget: int
    stats_print: int
    mallctl: int


def block(base: int, functions: Functions, frame: bytes) -> bytes:
    """The block, for a mapping at `base`."""
    start, buffer = base + CODE_BYTES, base + TOTAL - BUFFER_BYTES
    texts = [start + TEXTS + sum(map(len, TEXT_WORDS[:place])) for place in range(len(TEXT_WORDS))]
    words = WORDS.pack(
        *(texts[0], functions.mallctl, texts[2], texts[3], functions.stats_print),
        *(0, 4),  # arenas.narenas, and its size
        *(buffer, buffer + BUFFER_BYTES, 0),
        *(start + FRAME, texts[1]),
        *(0, 1, 0),  # arena.<i>.initialized, its size, and the count
    )
    head = words.ljust(TEXTS, b"\0") + b"".join(TEXT_WORDS)
    return head.ljust(FRAME, b"\0") + frame


def frame(base: int, registers: Registers, vector: bytes, mask: int) -> bytes:
    """The bytes at FRAME: the thread's old state for rt_sigreturn, which restarts its system call."""
    wanted = registers.copy()
    if wanted.orig_rax < 2**63:
        if wanted.rax in RESTARTS:
            wanted.rax = wanted.orig_rax
            wanted.rip -= 2
        elif wanted.rax == RESTART_BLOCK:  # rt_sigreturn forgets how to take that up
            wanted.rax = INTERRUPTED
    general = struct.pack("<18Q", *(getattr(wanted, name) for name in GENERAL.split()))
    segments = struct.pack("<4H", wanted.cs, 0, 0, wanted.ss)
    state = struct.pack("<4Q", 0, 0, 0, 0) + struct.pack("<Q", base + CODE_BYTES + VECTOR) + bytes(64)
    context = struct.pack("<QQ", UC_FLAGS, 0) + NO_STACK + general + segments + state + struct.pack("<Q", mask)
    return context.ljust(VECTOR - FRAME, b"\0") + _as_in_frame(vector)


def _as_in_frame(vector: bytes) -> bytes:
    """The vector state with the words that mark it as whole."""
    (features,) = struct.unpack_from("<Q", vector, XSTATE_WORDS)
    words = struct.pack("<IIQI", MAGIC_FIRST, len(vector) + 4, features, len(vector)).ljust(48, b"\0")
    return vector[:XSTATE_WORDS] + words + vector[XSTATE_WORDS + 48 :] + struct.pack("<I", MAGIC_LAST)


def entry(base: int, registers: Registers) -> Registers:
    """The registers with which the code begins."""
    wanted = registers.copy()
    wanted.orig_rax = 2**64 - 1  # no system call is to be taken up
    wanted.rip, wanted.rbx = base, base + CODE_BYTES
    wanted.rsp = base + CODE_BYTES + BLOCK_BYTES + STACK_BYTES - 64
    wanted.eflags &= ~0x400  # the direction flag, as every function expects it
    return wanted
