# SPDX-License-Identifier: MIT
"""Genomes."""

from __future__ import annotations

from generate import genomes
from model import Place, Program, Step
from normalise import without


def variants(place: Place) -> None:
    genomes.write_vcf(place.inputs / "variants.vcf", int(place.sizes["sites"]), samples=60)


def reads(place: Place) -> None:
    genomes.write_reads(place.inputs, int(place.sizes["bases"]), int(place.sizes["reads"]))


PROGRAMS = [
    Program(
        name="bcftools",
        what="a VCF of 60 samples: compressed, sorted, filtered, counted, as a table",
        packages={"bcftools": "bcftools"},
        version=("bcftools", "--version"),
        sizes={"sites": ("4000", "30000")},
        prepare=variants,
        steps=(
            Step(
                (
                    "bcftools",
                    "sort",
                    "-m",
                    "200M",
                    "-Ob",
                    "-o",
                    "sorted.bcf",
                    "-T",
                    "{run}/sorting",
                    "{inputs}/variants.vcf",
                ),
                artifacts=("sorted.bcf",),
            ),
            Step(("bcftools", "index", "sorted.bcf")),
            Step(
                ("bcftools", "view", "--no-version", "-i", "QUAL>30 && AC>5", "-Oz", "-o", "some.vcf.gz", "sorted.bcf"),
                artifacts=("some.vcf.gz",),
            ),
            Step(("bcftools", "stats", "-s", "-", "sorted.bcf"), normalise=without("^#")),
            Step(("bcftools", "query", "-f", "%CHROM %POS[ %GT]\n", "some.vcf.gz")),
        ),
    ),
    Program(
        name="bowtie2",
        what="an index of a generated genome, then pairs of reads with errors, 2 threads",
        packages={"bowtie2": "bowtie2", "bowtie2-build": "bowtie2"},
        version=("bowtie2", "--version"),
        probe=("/usr/bin/bowtie2-align-s", "--version"),
        sizes={"bases": ("150000", "1200000"), "reads": ("3000", "20000")},
        prepare=reads,
        steps=(
            Step(("bowtie2-build", "--seed", "1", "--threads", "2", "--quiet", "{inputs}/genome.fa", "index")),
            Step(
                ("bowtie2", "-p", "2", "--reorder", "--seed", "1", "-x", "index", "-1", "{inputs}/one.fq")
                + ("-2", "{inputs}/two.fq"),
                normalise=without("^@PG"),
            ),
        ),
    ),
]
