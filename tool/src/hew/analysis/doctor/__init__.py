# SPDX-License-Identifier: MIT
"""Turns a process's facts into the doctor's findings. Pure functions; each module is one topic."""

from hew.analysis.doctor.arenas import arena_findings
from hew.analysis.doctor.inside import inside_findings
from hew.analysis.doctor.kernel import kernel_findings
from hew.analysis.doctor.limits import limit_findings
from hew.analysis.doctor.malloc import malloc_findings
from hew.analysis.doctor.settings import setting_findings
from hew.model.finding import Finding
from hew.model.process import ProcessFacts


def examine(facts: ProcessFacts) -> list[Finding]:
    """Every finding, topic by topic."""
    topics = (malloc_findings, setting_findings, inside_findings, limit_findings, arena_findings, kernel_findings)
    return [finding for topic in topics for finding in topic(facts)]
