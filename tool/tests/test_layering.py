# SPDX-License-Identifier: MIT
"""The shape of the package: which folder may import which, and how long things may be."""

import ast
from pathlib import Path

import hew

PACKAGE = Path(hew.__file__).parent
MAY_IMPORT = {
    "model": {"model"},
    "sources": {"model", "sources"},
    "analysis": {"model", "analysis"},
    "tuner": {"model", "analysis", "tuner"},
    "views": {"model", "views"},
    "commands": {"model", "sources", "analysis", "tuner", "views", "commands"},  # commands.options is shared
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported_folders(module: Path) -> set[str]:
    """The folders of the package that a module imports from."""
    tree = ast.parse(module.read_text())
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("hew.")}


def test_dependencies_point_one_way() -> None:
    for module in MODULES:
        folder = module.relative_to(PACKAGE).parts[0]
        if folder in MAY_IMPORT:
            assert imported_folders(module) <= MAY_IMPORT[folder], module


def test_nothing_is_too_long() -> None:
    for module in MODULES:
        text = module.read_text()
        assert text.startswith("# SPDX-License-Identifier: MIT\n"), module
        assert text.count("\n") <= (200 if module.parent.name == "commands" else 400), module
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 50, (module, node.name)


def test_running_a_command_needs_neither_numpy_nor_rich() -> None:
    run = ast.parse((PACKAGE / "commands" / "run.py").read_text())
    heavy = {node.module for node in ast.walk(run) if isinstance(node, ast.ImportFrom)}
    assert not any(name and name.startswith(("numpy", "rich", "hew.views", "hew.analysis")) for name in heavy)
