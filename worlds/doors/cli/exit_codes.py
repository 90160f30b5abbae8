"""The end of a failed command: an error becomes one line on standard error, and the exit code that it carries."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from worlds.doors.cli.options import Help
from worlds.doors.cli.terminal import prepare_streams, say
from worlds.errors import WorldsError

NO = 1
INTERRUPTED = 130
BROKEN_PIPE = 141
INTERNAL = 70

EXIT_CODES: dict[int, str] = {
    0: "done",
    NO: "the answer is no: problems or contradictions were found, an ASK is false, or a name has no match",
    2: "wrong usage: an unknown option, an impossible value, a wrong setting",
    3: "not found, not a world, or it cannot be read or written",
    4: "the input is not valid RDF",
    5: "a query or a filter that cannot be answered",
    6: "no embedder, the wrong one, or it failed",
    7: "the world is read-only, another process is writing, or a later change is in the way",
    8: "the file is damaged, or the disk is full",
    9: "any other error",
    INTERNAL: "a mistake in worlds itself",
    INTERRUPTED: "interrupted by Ctrl-C",
    BROKEN_PIPE: "the reader of the output went away",
}
"""The meaning of each exit code."""

_FOREIGN: Mapping[type[BaseException], int] = {
    ValueError: 2,
    OSError: 3,
    BrokenPipeError: BROKEN_PIPE,
    KeyboardInterrupt: INTERRUPTED,
}


def exit_code(error: BaseException) -> int:
    """The exit code of an error: its own, or that of the nearest class that Python has."""
    if isinstance(error, WorldsError):
        return error.exit_code
    return next((_FOREIGN[kind] for kind in type(error).__mro__ if kind in _FOREIGN), INTERNAL)


_UNKNOWN_COMMAND = re.compile(r"no such command '([\w-]+)'")
_VERBS = {
    "sparql": "query select ask-sparql",
    "search": "find ask lookup",
    "log": "history revisions changes",
    "prefix": "prefixes namespaces bind",
    "load": "import add insert read",
    "update": "delete remove",
    "undo": "revert rollback",
    "describe": "show entity get",
    "stats": "info status",
    "serve": "server run start",
    "init": "create new make",
    "export": "dump save",
    "file compact": "vacuum optimize",
    "config": "settings configuration",
    "schema": "classes ontology",
    "curate": "curation",
    "curate links": "suggest-links",
    "proposals add": "propose",
    "revisions provenance": "blame annotate",
    "revisions tags": "tags",
}
"""The words that people type for a command, as other programs have them."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the outcome of the stopped work; a plain one has changed nothing."""


@contextlib.contextmanager
def stopping(state: str | Callable[[], str]) -> Iterator[None]:
    """Have Ctrl-C in the block report the state that it leaves."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise Interrupted(state if isinstance(state, str) else state()) from interrupt


class CommandGroup(Help, TyperGroup):
    """The commands. Whatever they raise ends here."""

    def main(  # type: ignore[override]  # what else it takes is in `extra`
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run a command line, and exit with its code."""
        prepare_streams()
        given = sys.argv[1:] if args is None else list(args)
        extra |= {"standalone_mode": False, "windows_expand_args": False}
        try:
            code = super().main(given or ["--help"], prog_name, **extra)
        except Exception as error:
            if not _is_usage_error(error):
                raise
            code = _report_usage(error)
        sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the options before the command's name."""
        try:
            return super().make_context(*args, **options)
        except (KeyboardInterrupt, OSError, SystemExit) as error:
            raise typer.Exit(_report(error)) from error

    _bare = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command's name; without any, the module that checks them is not loaded."""
        self._bare = bool(args) and not args[0].startswith("-")
        try:
            return list(super().parse_args(ctx, args))
        finally:
            self._bare = False

    def get_params(self, ctx: Any) -> Any:
        """The options of the command line itself."""
        params = [] if self._bare else super().get_params(ctx)
        for param in params:
            if param.name in ("install_completion", "show_completion"):  # `worlds completion` is for people
                param.hidden = True
        return params

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the command line names."""
        try:
            try:
                result = super().invoke(ctx)
            except typer.Exit as answer:
                result = answer
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if _is_usage_error(error):
                raise
            raise typer.Exit(_report(error)) from error
        if isinstance(result, typer.Exit):
            raise result
        return result


def _report(error: BaseException) -> int:
    """Print an error, and return its exit code."""
    if isinstance(error, SystemExit):  # Rich's, which prints the help, when its reader goes away
        error = BrokenPipeError()
    code = INTERRUPTED if _is_interrupted(error) else exit_code(error)
    if code == BROKEN_PIPE:
        _drop_output()
    elif code == INTERRUPTED:
        told = str(error) if isinstance(error, KeyboardInterrupt) else ""
        say("interrupted", told or "nothing was changed", style="bold yellow")
    elif code == INTERNAL:
        traceback.print_exception(error)
        say("error", f"a mistake in worlds, please report it: {type(error).__name__}: {error}", style="bold red")
    else:
        say("error", str(error), style="bold red")
    if code != BROKEN_PIPE:
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
    return int(getattr(error, "exit_code", code)) if code == INTERRUPTED else code


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error; in the import of an extension module it becomes an ImportError."""
    if isinstance(error, ImportError):
        return _is_interrupted(error.__cause__ or error.__context__)
    return isinstance(error, KeyboardInterrupt)


def _drop_output() -> None:
    """Discard unwritten output, so that Python reports no error about it on exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_usage_error(error: BaseException) -> bool:
    # Typer brings its own copy of Click from some release on; its classes are known by what they can do.
    return hasattr(error, "format_message")


def _report_usage(error: Any) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "worlds"
    message = error.format_message().strip().replace("Value error, ", "")
    message = f"{message[:1].lower()}{message[1:]}"
    if (unknown := _UNKNOWN_COMMAND.match(message)) and (
        meant := _meant(unknown[1], error.ctx.find_root().command.commands)
    ):
        message = f"there is no command {unknown[1]!r}: `worlds {meant}` does that"
    if command.endswith(" search") and message.startswith("no such option"):
        message += "; put words that begin with - after --, or in quotes with others"
    stop = "" if message.endswith((".", "?")) else "."
    say("error", f"{message}{stop} See `{command} --help`.", style="bold red")
    return 2


def _meant(word: str, commands: Mapping[str, Any]) -> str:
    """The commands that a word means: by the name that other programs have for it, or its own in a group."""
    here = [name for name in (word,) if name in commands]
    called = next((command for command, words in _VERBS.items() if word in words.split()), None)
    return called or "` or `worlds ".join(
        here + [f"{group} {word}" for group, one in commands.items() if word in getattr(one, "commands", ())]
    )
