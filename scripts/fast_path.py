#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count what the fast paths of the library cost, in instructions.

Disassembles libhew.so and walks each exported function from its first instruction to `ret` along the hot path: every
conditional branch falls through, unless only its target leads to a `ret` that something was stored before.  A call, a
jump to a *_slow function, to a .cold part or through the PLT is an exit that the hot path does not take; where no other
way exists it is taken, and counted as a call.  Counts are compared with tests/golden/fast_path.txt: more of anything
fails; --update writes the present counts; --show NAME prints the walk.

Counts are those of one processor and one compiler, so the golden file has lines for each, such as x86_64/gcc-12.  A
library built by a compiler that the file does not know is measured and not judged.
"""

import argparse
import platform
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = ["malloc", "free", "calloc", "_Znwm", "_ZdlPv", "_ZdlPvm", "mallocx", "dallocx", "sdallocx"]
LABEL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.+)$")
TARGET = re.compile(r"\b([0-9a-f]+) <([^>]+)>")
EXIT = re.compile(r"(_slow|@plt|\.cold|\.part\.\d+)$")
X86_PREFIXES = {"lock", "rep", "repz", "repnz", "bnd", "notrack", "data16", "cs", "ds", "fs"}
X86_READ_ONLY = {"cmp", "test", "bt", "ucomisd", "ucomiss"}
X86_WRITE_ONLY = re.compile(r"^(mov\w*|vmov\w*|set\w+)$")
X86_NO_ACCESS = {"lea", "nop", "endbr64", "prefetcht0", "prefetchw", "prefetcht1", "prefetcht2", "prefetchnta"}
MEMORY = re.compile(r"\[|\b[defgcs]s:")


@dataclass(frozen=True)
class Instruction:
    """One disassembled instruction."""

    address: int
    mnemonic: str
    operands: str
    locked: bool


@dataclass(frozen=True)
class Cost:
    """What a path costs."""

    instructions: int = 0
    loads: int = 0
    stores: int = 0
    branches: int = 0
    atomics: int = 0
    calls: int = 0


@dataclass(frozen=True)
class Code:
    """The text of a library: instructions in order of address, their index, and the names of function starts."""

    instructions: list[Instruction]
    index: dict[int, int]
    labels: dict[int, str]


class FastPathError(Exception):
    """Something that stops the measurement, in one line."""


def run(command: list[str]) -> str:
    """The output of a binutils program."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError as error:
        raise FastPathError(f"{command[0]} is missing: install binutils") from error
    except subprocess.CalledProcessError as error:
        raise FastPathError(f"{' '.join(command)}: {error.stderr.strip()}") from error


def parse_instruction(address: int, text: str) -> Instruction:
    """Splits prefixes, mnemonic and operands; comments of objdump go."""
    words = re.split(r"\s+[#;]|\s*//", text.strip())[0].split()
    locked = "lock" in words[:2]
    while len(words) > 1 and words[0] in X86_PREFIXES:
        words = words[1:]
    return Instruction(address, words[0], " ".join(words[1:]), locked)


def parse_disassembly(text: str) -> Code:
    """objdump's listing as data."""
    instructions, labels = [], {}
    for line in text.splitlines():
        if match := LABEL.match(line):
            labels[int(match[1], 16)] = match[2].split("@@")[0]
        elif (match := INSTRUCTION.match(line)) and not match[2].startswith("("):
            instructions.append(parse_instruction(int(match[1], 16), match[2]))
    return Code(instructions, {one.address: i for i, one in enumerate(instructions)}, labels)


def compiler_of(library: Path) -> str:
    """gcc-12 or clang-14, as the library's comment tells; the first one, for the C library's start files add theirs."""
    comment = run(["readelf", "-p", ".comment", str(library)])
    for name, pattern in (("clang", r"clang version (\d+)"), ("gcc", r"GCC: \(.*\) (\d+)")):
        if match := re.search(pattern, comment):
            return f"{name}-{match[1]}"
    return "unknown"


def exported(library: Path) -> dict[str, int]:
    """The addresses of the functions that a shared library exports."""
    addresses = {}
    for line in run(["nm", "-D", "--defined-only", str(library)]).splitlines():
        address, kind, name = line.split()[:3]
        if kind in "TWi":
            addresses[name.split("@")[0]] = int(address, 16)
    return addresses


def is_conditional(instruction: Instruction) -> bool:
    """Whether it may fall through or jump."""
    name = instruction.mnemonic
    if name.startswith("j"):
        return name != "jmp"
    return name.startswith("b.") or name in {"cbz", "cbnz", "tbz", "tbnz"}


def is_call(instruction: Instruction) -> bool:
    return instruction.mnemonic in {"call", "bl", "blr"}


def jump_target(instruction: Instruction) -> tuple[int, str] | None:
    """Address and name of a direct jump; None for one through a register or memory."""
    match = TARGET.search(instruction.operands)
    return (int(match[1], 16), match[2]) if match else None


def successors(code: Code, instruction: Instruction) -> list[int]:
    """Where the hot path may go from here, the likelier first."""
    name = instruction.mnemonic
    following = code.index[instruction.address] + 1
    places = []
    if name not in {"ret", "jmp", "b", "br", "ud2", "hlt"} and following < len(code.instructions):
        places.append(code.instructions[following].address)
    if is_conditional(instruction) or name in {"jmp", "b"}:
        target = jump_target(instruction)
        if target is not None and not EXIT.search(code.labels.get(target[0], target[1])) and target[0] in code.index:
            places.append(target[0])
    return places


def x86_accesses(one: Instruction) -> tuple[int, int]:
    """Loads and stores of one instruction; the stack pushes and pops count, `call` and `ret` do not."""
    name = one.mnemonic
    if name in {"push", "pop"}:
        return (name == "pop", name == "push")
    if name in X86_NO_ACCESS or is_call(one) or not MEMORY.search(one.operands):
        return (0, 0)
    first = one.operands.split(",")[0]
    if not MEMORY.search(first) or name in X86_READ_ONLY or name.startswith(("j", "mul", "div", "idiv")):
        return (1, 0)
    return (0, 1) if X86_WRITE_ONLY.match(name) else (1, 1)


def arm_accesses(one: Instruction) -> tuple[int, int]:
    """Loads and stores of one aarch64 instruction."""
    name = one.mnemonic
    if re.match(r"(ld(add|clr|set|eor|[su](max|min))|swp|cas)", name):
        return (1, 1)
    return (name.startswith("ld"), name.startswith("st"))


def accesses_of(one: Instruction, machine: str) -> tuple[int, int]:
    """Loads and stores of one instruction."""
    return arm_accesses(one) if machine == "aarch64" else x86_accesses(one)


def writes(one: Instruction, machine: str) -> bool:
    """Whether it stores to anything but the stack: every malloc and free must, an early return does not."""
    return one.mnemonic != "push" and "sp" not in one.operands and accesses_of(one, machine)[1] > 0


def hot_path(code: Code, start: int, machine: str, may_leave: bool) -> list[Instruction] | None:
    """The first way to `ret` that stores something, by a depth-first walk; None when there is none.

    With may_leave the walk steps over calls, may end in a jump to another function, and need not store.
    """
    path: list[Instruction] = []
    stored = [may_leave]
    choices = [[start]]
    seen: set[tuple[int, bool]] = set()
    while choices:
        if not choices[-1]:
            choices.pop()
            if path:
                path.pop()
                stored.pop()
            continue
        address = choices[-1].pop(0)
        if (address, stored[-1]) in seen or address not in code.index:
            continue
        seen.add((address, stored[-1]))
        instruction = code.instructions[code.index[address]]
        if is_call(instruction) and not may_leave:
            continue
        path.append(instruction)
        stored.append(stored[-1] or writes(instruction, machine))
        onward = successors(code, instruction)
        if stored[-1] and (instruction.mnemonic == "ret" or (may_leave and not onward)):
            return path
        choices.append(onward)
    return None


def is_atomic(one: Instruction) -> bool:
    """A read-modify-write that other processors see whole."""
    if one.mnemonic == "xchg":
        return bool(MEMORY.search(one.operands))
    return one.locked or bool(re.match(r"(ld(add|clr|set|eor|[su](max|min))|swp|cas|ld\w*xr|st\w*xr)", one.mnemonic))


def cost_of(path: list[Instruction], machine: str) -> Cost:
    """The sum over a path."""
    accesses = [accesses_of(one, machine) for one in path]
    return Cost(
        instructions=len(path),
        loads=sum(load for load, _ in accesses),
        stores=sum(store for _, store in accesses),
        branches=sum(is_conditional(one) for one in path),
        atomics=sum(is_atomic(one) for one in path),
        calls=sum(is_call(one) for one in path) + (path[-1].mnemonic != "ret"),
    )


def walk(code: Code, start: int, machine: str) -> list[Instruction]:
    """The hot path, inside the function if there is one that stays inside."""
    path = hot_path(code, start, machine, may_leave=False) or hot_path(code, start, machine, may_leave=True)
    if path is None:
        raise FastPathError(f"no way from {start:#x} to ret")
    return path


def read_golden(path: Path) -> dict[tuple[str, str], Cost]:
    """(builder, name) to counts."""
    golden = {}
    for line in path.read_text().splitlines() if path.is_file() else []:
        if line.strip() and not line.startswith("#"):
            builder, name, *counts = line.split()
            golden[builder, name] = Cost(*map(int, counts))
    return golden


def format_table(costs: dict[tuple[str, str], Cost]) -> str:
    """The text of the golden file."""
    columns = [field.name for field in fields(Cost)]
    lines = ["# The hot paths of the exported functions, counted by scripts/fast_path.py; --update rewrites this file."]
    lines.append("# " + f"{'builder':<14} {'function':<10}" + "".join(f"{column:>13}" for column in columns))
    for (builder, name), cost in sorted(costs.items()):
        counts = "".join(f"{getattr(cost, column):>13}" for column in columns)
        lines.append(f"{builder:<16} {name:<10}{counts}")
    return "\n".join(lines) + "\n"


def compare(costs: dict[tuple[str, str], Cost], golden: dict[tuple[str, str], Cost]) -> list[str]:
    """One line for each count that rose, and for each function that is missing for a builder that the file knows."""
    failures: list[str] = []
    if not {builder for builder, _ in costs} & {builder for builder, _ in golden}:
        return failures
    for key, cost in sorted(costs.items()):
        if key not in golden:
            failures.append(f"{key[1]}: not in the golden file for {key[0]}; run with --update")
            continue
        for field in fields(Cost):
            now, then = getattr(cost, field.name), getattr(golden[key], field.name)
            if now > then:
                failures.append(f"{key[1]}: {now} {field.name} on its hot path, {then} before")
    return failures


def measure(library: Path, machine: str, show: str | None) -> dict[tuple[str, str], Cost]:
    """The costs of all NAMES that the library exports."""
    if not library.is_file():
        raise FastPathError(f"no library {library}; build first")
    syntax = ["-M", "intel"] if machine == "x86_64" else []
    code = parse_disassembly(run(["objdump", "-d", "--no-show-raw-insn", *syntax, str(library)]))
    addresses = exported(library)
    builder = f"{machine}/{compiler_of(library)}"
    costs = {}
    for name in [name for name in NAMES if name in addresses]:
        path = walk(code, addresses[name], machine)
        costs[builder, name] = cost_of(path, machine)
        if name == show:
            print("\n".join(f"{one.address:8x}  {one.mnemonic:<8} {one.operands}" for one in path))
    if not costs:
        raise FastPathError(f"{library} exports none of {', '.join(NAMES)}")
    return costs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Count the instructions of the fast paths.")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "release" / "libhew.so")
    parser.add_argument("--golden", type=Path, default=ROOT / "tests" / "golden" / "fast_path.txt")
    parser.add_argument("--machine", default=platform.machine(), help="x86_64 or aarch64")
    parser.add_argument("--update", action="store_true", help="write the present counts to the golden file")
    parser.add_argument("--show", metavar="NAME", help="print the hot path of one function")
    options = parser.parse_args(arguments)
    try:
        costs = measure(options.library, options.machine, options.show)
        golden = read_golden(options.golden)
    except (FastPathError, OSError, ValueError, TypeError) as error:
        print(f"fast_path: {error}", file=sys.stderr)
        return 2
    print(format_table(costs), end="")
    if options.update:
        others = {key: cost for key, cost in golden.items() if key[0] not in {builder for builder, _ in costs}}
        options.golden.parent.mkdir(parents=True, exist_ok=True)
        options.golden.write_text(format_table(others | costs))
        return 0
    failures = compare(costs, golden)
    known = {builder for builder, _ in costs} & {builder for builder, _ in golden}
    verdict = "no hot path costs more than before" if known else "not judged: the golden file has no such builder"
    print("\n".join(failures) if failures else f"fast_path: {verdict}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
