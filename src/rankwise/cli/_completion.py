"""``rankwise completion``: names of commands and options by the tab key."""

import click
from click.shell_completion import get_completion_class

from rankwise.cli._shown import examples

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog=examples(
        "rankwise completion bash >> ~/.bashrc",
        "rankwise completion fish > ~/.config/fish/completions/rankwise.fish",
    )
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what a shell needs for the tab key."""
    found = get_completion_class(shell)
    if found is None:
        raise click.ClickException(f"{shell} is not known to this version of click")
    click.echo(found(ctx.find_root().command, {}, "rankwise", "_RANKWISE_COMPLETE").source())
