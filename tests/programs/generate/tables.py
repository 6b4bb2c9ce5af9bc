# SPDX-License-Identifier: MIT
"""Tables: rows for data frames and databases, features for learners."""

from __future__ import annotations

import random
from pathlib import Path

from generate.data import WORDS


def write_csv(path: Path, rows: int) -> None:
    """Keys, words, amounts and dates, with gaps."""
    chance = random.Random(31)
    with open(path, "w", encoding="ascii") as file:
        file.write("id,customer,word,amount,price,day,text\n")
        for number in range(rows):
            text = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(8)))
            price = f"{chance.randrange(10**6) / 100:.2f}" if chance.random() > 0.05 else ""
            day = f"20{chance.randrange(10, 24)}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}"
            file.write(f"{number},{chance.randrange(rows // 20)},{chance.choice(WORDS)},")
            file.write(f"{chance.randrange(1000)},{price},{day},{text}\n")


def write_libsvm(path: Path, rows: int) -> None:
    """A label that depends on some of forty features, of which most are absent."""
    chance = random.Random(32)
    with open(path, "w", encoding="ascii") as file:
        for _ in range(rows):
            present = {feature: chance.random() for feature in range(40) if chance.random() < 0.4}
            score = present.get(1, 0) - present.get(2, 0) + present.get(3, 0) * present.get(4, 0.5)
            features = " ".join(f"{feature}:{value:.4f}" for feature, value in present.items())
            file.write(f"{int(score + chance.gauss(0, 0.2) > 0.2)} {features}\n")
