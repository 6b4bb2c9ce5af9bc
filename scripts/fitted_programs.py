# SPDX-License-Identifier: MIT
"""The ten programs of docs/cut-to-fit.md: what they do, and how they are run."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from program_texts import AWK, PYTHON, compiler, jq_filter, perl, sql

from hew.model.run import CommandPlan, Plan, ServerPlan

ROOT = Path(__file__).resolve().parent.parent
NULL = Path("/dev/null")

SOURCE = """
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
int main()
{
    std::map<std::string, std::vector<int>> all;
    std::unordered_map<std::string, std::function<int(int)>> functions;
    for (int i = 0; i < 1000; i++)
        all[std::to_string(i % 37)].push_back(i);
    functions["count"] = [&all](int least) {
        int found = 0;
        for (const auto &one : all)
            found += (int)one.second.size() > least;
        return found;
    };
    return functions["count"](20);
}
"""
NODE = """
const kept = [];
for (let i = 0; i < 40000; i++) {
  const one = Buffer.allocUnsafeSlow(600 + (i * 7919) % 3000); one[0] = i;
  kept.push(one); if (i % 3 === 0) kept[(i * 31) % kept.length] = null;
}
console.log(kept.length);
"""
LUA = "local t = {} for i = 1, 300000 do t[i] = {name = 'n' .. i, value = i} end print(#t)"


@dataclass(frozen=True)
class Program:
    """What is run under the allocators, whether by itself or loaded by a client."""

    name: str
    does: str
    plan: Plan
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_here(self) -> bool:
        """Whether it can be run."""
        words = (
            [self.plan.server[0], self.plan.client[0]] if isinstance(self.plan, ServerPlan) else [self.plan.command[0]]
        )
        return all(shutil.which(word) is not None for word in words)


def command(*words: str, stdin: Path = NULL) -> CommandPlan:
    """By itself."""
    return CommandPlan(words, stdin, 120.0)


def programs(folder: Path) -> list[Program]:
    """All ten that are here. Their inputs are made in the folder."""
    (folder / "in.sql").write_text(sql(150_000))
    (folder / "program.cc").write_text(SOURCE)
    items = "".join(f"<item id='{i}'><name>name {i}</name><value>{i * 7}</value></item>" for i in range(120_000))
    (folder / "in.xml").write_text(f"<all>{items}</all>")
    service = str(ROOT / "bench/programs/json_service.py")
    redis = ServerPlan(
        ("redis-server", "--port", "{port}", "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)),
        ("redis-cli", "-p", "{port}", "ping"),
        ("redis-benchmark", "-p", "{port}", "-t", "set,lpush,sadd", "-n", "30000", "-r", "50000", "-d", "100", "-q"),
        180.0,
    )
    ready = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).close()"
    json = ServerPlan(
        (sys.executable, service, "serve", "{port}"),
        (sys.executable, "-c", ready, "{port}"),
        (sys.executable, service, "load", "{port}", "2000"),
        180.0,
    )
    whole = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    found = [
        Program("Redis", "90,000 requests of a client: SET, LPUSH, SADD", redis),
        Program("SQLite", "150,000 rows in memory, an index, deletions",
                command("sqlite3", ":memory:", stdin=folder / "in.sql")),
        *([Program("g++", "a page of C++ with maps and functions, -O1", command(*compiler(folder / "program.cc", 1)))]
          if shutil.which("g++") else []),
        Program("Python", "JSON documents written and read (PYTHONMALLOC=malloc)",
                command(sys.executable, "-c", PYTHON), whole),
        Program("node", "40,000 buffers of 600 to 3,600 bytes, a third of them let go", command("node", "-e", NODE)),
        Program("JSON service", "a Python server that keeps 2,000 documents for its client", json, whole),
        Program("Perl", "a hash that grows and loses keys", command("perl", "-e", perl(300_000)),
                {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}),
        Program("jq", "an array of 120,000 objects, filtered", command("jq", "-n", jq_filter(120_000))),
        Program("Lua", "300,000 tables", command("lua5.4", "-e", LUA)),
        Program("awk", "a table of 400,000 words", command("gawk", AWK)),
    ]  # fmt: skip
    return [one for one in found if one.is_here]
