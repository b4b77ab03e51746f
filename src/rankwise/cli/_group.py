"""All commands as one: grouped by what a person wants, mistakes told in a line."""

import warnings
from typing import Any

import click

from rankwise._core.arguments import warn_deprecated
from rankwise._core.terminal import degrade_output, sentence

# What a person wants, and the commands for it; one that is not named here stands in the last part.
SECTIONS = {
    "Learn from a table": (
        "compare",
        "fit",
        "predict",
        "rank",
        "evaluate",
        "explain",
        "export",
    ),
    "Learn while rows come in": ("stream",),
    "Put things in order": ("sort", "duel", "aggregate"),
    "Let people rate and see their ranking": ("serve",),
    "Data": ("data",),
    "This installation": ("warmup", "doctor", "completion"),
}
_ALIASES = {"order": "sort"}


def _warn(message: Warning | str, *_: Any) -> None:
    """Tell a warning in a line, without the code that gives it."""
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
    """All commands of ``rankwise``."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name or an older one."""
        return super().get_command(ctx, _ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was asked for; an older name is answered with a warning."""
        if args and args[0] in _ALIASES and not ctx.resilient_parsing:
            new = _ALIASES[args[0]]
            warn_deprecated(f"'rankwise {args[0]}'", f"'rankwise {new}'", since="0.2", gone="0.4")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, a part for each thing that a person wants."""
        named = {name for names in SECTIONS.values() for name in names}
        others = [name for name in self.list_commands(ctx) if name not in named]
        width = max(map(len, self.commands))
        for title, names in [*SECTIONS.items(), ("More", others)]:
            commands = [(name, self.commands[name]) for name in names if name in self.commands]
            if commands:
                room = formatter.width - width - 6
                with formatter.section(title):
                    formatter.write_dl(
                        [
                            (name.ljust(width), command.get_short_help_str(max(room, 45)))
                            for name, command in commands
                        ]
                    )
