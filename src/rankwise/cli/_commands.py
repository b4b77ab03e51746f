"""All commands: a table of their modules, loaded when called, and errors in one line."""

import warnings
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from rankwise import __version__
from rankwise._core.terminal import degrade_output, sentence
from rankwise.cli._shared import examples

# Tasks, and the commands for them: the module of each, and its line in the list of commands.
SECTIONS = {
    "Learn from a table": {
        "compare": ("_compare", "Compare the methods that fit a table, and save the advised one."),
        "fit": ("_fit", "Fit a model to TABLE and save it."),
        "predict": (
            "_predict",
            "Print a grade or a score for each row of TABLE, as CSV with a header.",
        ),
        "rank": ("_predict", "Put the rows of TABLE in order, best first."),
        "evaluate": ("_predict", "Measure MODEL on rows that it has not learned from."),
        "explain": ("_predict", "Split the score of a row by its columns."),
        "show": ("_export", "Print the contents of a model file, without loading it."),
        "export": ("_export", "Write a model for a search engine or as a program."),
    },
    "Learn from a stream": {
        "stream": ("_stream", "Learn grades online from FILE or standard input."),
    },
    "Sort, contests and votes": {
        "sort": ("_sort", "Put lines in order by saying which of two goes first."),
        "duel": ("_duel", "Estimate strengths and ranks from contests."),
        "aggregate": ("_aggregate", "Combine rankings into one, by every method."),
    },
    "Web service": {
        "serve": ("_serve", "Serve the page where people rate and rank."),
    },
    "Data": {
        "data": ("_data", "List, get and check the data sets that rankwise knows."),
    },
    "Installation": {
        "warmup": ("_doctor", "Compile all loops, so that later calls start at once."),
        "doctor": ("_doctor", "Print what is installed, and test it."),
        "completion": ("_commands", "Print the completion script of a shell."),
    },
}
_COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
_ALIASES = {"order": "sort"}
_SHELLS = ("bash", "zsh", "fish")


def _warn(message: Warning | str, *_: Any) -> None:
    """Print a warning in a line, without the code that gives it."""
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)


class PlainErrors(click.Command):
    """A command whose errors are one line, on any terminal."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; the exit status is 1 for a mistake and 130 for Ctrl-C."""
        degrade_output()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn  # type: ignore[assignment]
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (click.Abort, KeyboardInterrupt):
            raise click.exceptions.Exit(130) from None
        except ImportError as error:
            if (error.name or "").partition(".")[0] == "rankwise":
                raise
            hint = "" if "pip install" in str(error) else "; pip install 'rankwise[all]'"
            raise click.ClickException(f"{sentence(error)}{hint}") from error
        except MemoryError as error:
            raise click.ClickException(f"memory is too small ({sentence(error)})") from error
        except (OSError, ValueError) as error:
            raise click.ClickException(sentence(error)) from error


class Commands(PlainErrors, click.Group):
    """All commands of ``rankwise``; the module of a command is loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command by its name or an older one."""
        name = _ALIASES.get(cmd_name, cmd_name)
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"rankwise.cli.{_COMMANDS[name][0]}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was asked for; an older name is answered with a warning."""
        if args and args[0] in _ALIASES and not ctx.resilient_parsing:
            from rankwise._core.arguments import warn_deprecated  # noqa: PLC0415

            new = _ALIASES[args[0]]
            warn_deprecated(f"'rankwise {args[0]}'", f"'rankwise {new}'", since="0.2", gone="0.4")
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"{error.message}{hint}", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands, a section for each task."""
        width = max(map(len, _COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), text) for name, (_, text) in commands.items()]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so, and load none of them."""
        return [
            CompletionItem(name, help=text)
            for name, (_, text) in _COMMANDS.items()
            if name.startswith(incomplete)
        ] + click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=Commands, epilog="See rankwise COMMAND --help for its options and examples.")
@click.version_option(__version__, prog_name="rankwise")
def rankwise() -> None:
    """Learn rankings, and say how far to trust them."""


@click.command(
    epilog=examples(
        "rankwise completion bash >> ~/.bashrc",
        "rankwise completion fish > ~/.config/fish/completions/rankwise.fish",
    )
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    found = get_completion_class(shell)
    if found is None:
        raise click.ClickException(f"{shell} is not known to this version of click")
    click.echo(found(ctx.find_root().command, {}, "rankwise", "_RANKWISE_COMPLETE").source())
