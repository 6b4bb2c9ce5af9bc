# SPDX-License-Identifier: MIT
"""A genome, pairs of reads of it with errors, and variants of many samples."""

from __future__ import annotations

import random
from pathlib import Path

BASES = "ACGT"
OPPOSITE = str.maketrans("ACGT", "TGCA")


def write_reads(directory: Path, bases: int, reads: int) -> None:
    """genome.fa with some repeats, and one.fq and two.fq."""
    chance = random.Random(51)
    parts = ["".join(chance.choices(BASES, k=bases // 50)) for _ in range(40)]
    genome = "".join(parts + [chance.choice(parts) for _ in range(10)])
    with open(directory / "genome.fa", "w", encoding="ascii") as file:
        file.write(">chr1\n" + "\n".join(genome[at : at + 70] for at in range(0, len(genome), 70)) + "\n")
    with (
        open(directory / "one.fq", "w", encoding="ascii") as one,
        open(directory / "two.fq", "w", encoding="ascii") as two,
    ):
        for number in range(reads):
            start, length = chance.randrange(len(genome) - 500), chance.randint(250, 400)
            ends = genome[start : start + 100], genome[start + length - 100 : start + length].translate(OPPOSITE)[::-1]
            for file, read in zip((one, two), ends, strict=True):
                letters = [chance.choice(BASES) if chance.random() < 0.02 else letter for letter in read]
                file.write(f"@read{number}\n{''.join(letters)}\n+\n{'I' * len(letters)}\n")


def write_vcf(path: Path, sites: int, samples: int) -> None:
    """Variants out of order over five chromosomes."""
    chance = random.Random(52)
    with open(path, "w", encoding="ascii") as file:
        file.write("##fileformat=VCFv4.2\n")
        file.writelines(f"##contig=<ID=chr{number},length=1000000>\n" for number in range(1, 6))
        file.write('##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n')
        file.write('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n')
        file.write('##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">\n')
        names = "\t".join(f"sample{number}" for number in range(samples))
        file.write(f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{names}\n")
        for number in range(sites):
            before, after = chance.sample(BASES, 2)
            calls = "\t".join(
                f"{int(chance.random() < 0.2)}/{int(chance.random() < 0.2)}:{chance.randint(1, 60)}"
                for _ in range(samples)
            )
            place = f"chr{chance.randint(1, 5)}\t{chance.randint(1, 1_000_000)}"
            file.write(f"{place}\trs{number}\t{before}\t{after}\t{chance.randint(5, 99)}\tPASS\t")
            file.write(f"DP={chance.randint(10, 900)}\tGT:DP\t{calls}\n")
