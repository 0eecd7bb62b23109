"""``votron completion``: the script that lets a shell complete commands, options and file names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from votron.cli.command import command


@command(
    "completion",
    examples=[
        "votron completion bash > votron.bash   # then source votron.bash in ~/.bashrc",
        "votron completion zsh > _votron        # in a folder of $fpath",
        "votron completion fish > ~/.config/fish/completions/votron.fish",
    ],
)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and file names in bash, zsh or fish."""
    from votron.cli import votron

    found = get_completion_class(shell)
    assert found is not None
    print(found(votron, {}, "votron", "_VOTRON_COMPLETE").source())
