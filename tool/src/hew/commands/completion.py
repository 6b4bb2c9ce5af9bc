# SPDX-License-Identifier: MIT
"""`hew completion`: what makes a shell complete hew's commands and options, printed or installed."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from hew.commands.options import told
from hew.model.errors import HewError

# Where each shell looks by itself, below the home; zsh needs the folder in its fpath.
PLACES = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/hew"),
    "zsh": ("XDG_DATA_HOME", ".local/share", "zsh/site-functions/_hew"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/hew.fish"),
}


@click.command("completion")
@click.option("--install", is_flag=True, help="Write it where the shell looks, instead of printing it.")
@click.argument("shell", type=click.Choice(sorted(PLACES)), required=False)
def command(install: bool, shell: str | None) -> None:
    """Print what makes bash, zsh or fish complete hew; without SHELL, for the one in $SHELL."""
    with told("hew completion"):
        shell = shell or Path(os.environ.get("SHELL", "")).name
        kind = get_completion_class(shell) if shell in PLACES else None
        if kind is None:
            raise HewError(f"{shell or 'no shell in $SHELL'}: name one of {', '.join(sorted(PLACES))}")
        root = click.get_current_context().find_root().command
        script = kind(root, {}, "hew", "_HEW_COMPLETE").source()
        if not install:
            click.echo(script)
            return
        variable, below, name = PLACES[shell]
        folder = os.environ.get(variable)
        path = (Path(folder) if folder else Path.home() / below) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script + "\n", encoding="utf-8")
        more = f"; zsh finds it with fpath+=({path.parent}) before compinit in ~/.zshrc" if shell == "zsh" else ""
        click.echo(f"{path}{more}")
