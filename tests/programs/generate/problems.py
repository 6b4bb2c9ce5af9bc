# SPDX-License-Identifier: MIT
"""Problems for solvers: SMT, SAT, and a transport problem."""

from __future__ import annotations

import random
from pathlib import Path


def write_smt(path: Path, variables: int) -> None:
    """Integers with a function over them, then bit-vectors, each asked twice in turn."""
    chance = random.Random(41)
    names = [f"x{number}" for number in range(variables)]
    lines = ["(set-logic ALL)", "(declare-fun f (Int) Int)"]
    lines += [f"(declare-const {name} Int)\n(assert (and (>= {name} 0) (<= {name} 60)))" for name in names]
    for _ in range(variables * 2):
        one, two, three = chance.sample(names, 3)
        lines.append(
            f"(assert (or (<= (+ (* {chance.randint(1, 5)} {one}) {two}) (+ {three} {chance.randint(5, 50)}))"
            f" (>= (f {one}) (+ (f {two}) {chance.randint(1, 9)}))))"
        )
        lines.append(f"(assert (not (= (+ {one} {two}) (* 2 {three}))))")
    lines.append("(check-sat)")
    for number in range(variables // 2):
        one, two = chance.sample(names, 2)
        lines += ["(push 1)", f"(assert (> (+ {one} (f {two})) {40 + number}))", "(check-sat)", "(pop 1)"]
    lines += [f"(declare-const b{number} (_ BitVec 16))" for number in range(variables)]
    for number in range(variables - 1):
        lines.append(
            f"(assert (= (bvmul b{number} #x{chance.randrange(1, 65536, 2):04x})"
            f" (bvxor b{number + 1} (bvshl b{number} #x0003))))"
        )
    lines += ["(assert (bvugt b0 #x0010))", "(check-sat)"]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def write_cnf(path: Path, variables: int) -> None:
    """Random clauses of three, at the ratio where neither answer is easy."""
    chance = random.Random(42)
    clauses = int(variables * 4.26)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"p cnf {variables} {clauses}\n")
        for _ in range(clauses):
            chosen = chance.sample(range(1, variables + 1), 3)
            file.write(" ".join(str(one if chance.random() < 0.5 else -one) for one in chosen) + " 0\n")


def write_lp(path: Path, places: int) -> None:
    """Goods from some places to others, opening a place costs."""
    chance = random.Random(43)
    makers, takers = range(places // 3), range(places)
    cost = {(maker, taker): chance.randint(3, 60) for maker in makers for taker in takers}
    with open(path, "w", encoding="ascii") as file:
        file.write("Minimize\n cost: " + "\n + ".join(f"{price} g{a}_{b}" for (a, b), price in cost.items()))
        file.write(
            "\n + " + "\n + ".join(f"{chance.randint(200, 900)} o{maker}" for maker in makers) + "\nSubject To\n"
        )
        for taker in takers:
            file.write(" + ".join(f"g{maker}_{taker}" for maker in makers) + f" >= {chance.randint(5, 40)}\n")
        for maker in makers:
            file.write(" + ".join(f"g{maker}_{taker}" for taker in takers) + f" - 250 o{maker} <= 0\n")
        file.write("Binary\n" + "\n".join(f" o{maker}" for maker in makers) + "\nEnd\n")
