"""How a function becomes a command: its options are its verb's, its world is opened for it, its answer is printed."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, TypeVar

import typer

from worlds.core.search.options import Option, gathered
from worlds.doors.cli.exit_codes import NO, Interrupted
from worlds.doors.cli.options import EMBEDDER, ENTAILED_TOO, JSON, PATH, VIEWS, examples, opened, parameter
from worlds.doors.cli.terminal import note, output, waiting, write_json
from worlds.verbs.table import VERBS
from worlds.verbs.verb import Verb

_F = TypeVar("_F", bound=Callable[..., Any])
_LAST = ("embed", "embedder", "author", "message", "dry_run", "json")  # the options of many commands


@dataclass(frozen=True)
class Made:
    """A command: its function for Typer, and its examples for the help."""

    callback: Callable[..., None]
    epilog: str


COMMANDS: dict[str, Made] = {}
"""The commands by their names."""


@dataclass(frozen=True, kw_only=True)
class Answering:
    """The opening of a command's world, and the printing of its answer.

    It opens the world to write if its verb writes, or as `writes` says: where one of the options that it names is
    given, or it is true of them. `create` makes one that is not there, `embedder` chooses the embedder, and with one of
    the options that `dry` names nothing is embedded, and no world made. While it works, `waiting` is shown; Ctrl-C then
    says `interrupted`. The exit code is 1 where `fails` is true of the answer. `show` prints it; otherwise it is
    printed as any record, and `empty` if it holds nothing. `nothing` is said of a write that changed nothing.
    """

    writes: bool | str | Callable[[Mapping[str, Any]], bool] = False
    create: bool = False
    dry: str = "dry_run"
    embedder: Callable[[Mapping[str, Any]], str] = lambda given: given.get("embedder", "none")
    waiting: str = ""
    interrupted: str = ""
    fails: Callable[[Any], bool] = lambda _: False
    show: Callable[[Any, Mapping[str, str]], None] | None = None
    empty: str = "nothing was found"
    nothing: str | None = None

    def opens_to_write(self, options: Mapping[str, Any]) -> bool:
        """Whether the world is opened to write."""
        if isinstance(self.writes, str):
            return _any_of(self.writes, options)
        return self.writes(options) if callable(self.writes) else self.writes


def _any_of(names: str, options: Mapping[str, Any]) -> bool:
    """Whether one of the options is given."""
    return any(options.get(name) not in (None, False) for name in names.split())


def command(
    verb: str | None = None,
    *more: inspect.Parameter,
    name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    key: Callable[[str], Any] | None = None,
    json: bool = True,
    **words: Any,
) -> Callable[[_F], _F]:
    """Make a command of a function, named `name`, like its verb, or like the function.

    It has the options of the verb, and `more`, which come in the place of the verb's if they have their names; the
    `defaults` are those of the command line, where they are not Python's. `key` puts the options in another order.
    `verb` may also be a method without a row, or the name of a command that is no verb, a "." after its group.

    A function whose first parameter is `world` gets it opened, and one with the parameter `asked` all options, as that
    one's attributes; it returns what is to be printed, None for nothing. A function without parameters is no more than
    a docstring: its command calls the method. The docstring is the help, and its lines that begin with $ are examples.
    `words` are those of `Answering`.
    """
    row = VERBS.get(verb or "")
    answering = Answering(**{"writes": row is not None and row.effect != "reads", **words})

    def decorate(function: _F) -> _F:
        told = inspect.getdoc(function) or ""
        work = function if inspect.signature(function).parameters or verb is None else _calling(verb)
        own = inspect.signature(work).parameters
        of_world = next(iter(own), "") == "world"
        world_first = [PATH] if of_world else []
        options = _options(row, (*world_first, *more, *([JSON] if json else [])), defaults or {}, key)
        rest = any(one.kind is one.VAR_KEYWORD for one in own.values())
        opening = {one.name for one in options if one in (PATH, JSON, EMBEDDER, ENTAILED_TOO, *VIEWS)}

        def run(**given: Any) -> None:
            began = time.perf_counter()
            given = {name: _value(row.options.get(name) if row else None, value) for name, value in given.items()}
            passed = {name: value for name, value in given.items() if name in own or (rest and name not in opening)}
            passed |= {"asked": SimpleNamespace(**given)} if "asked" in own else {}
            with contextlib.ExitStack() as stack:
                world = stack.enter_context(_opened(answering, given, opening)) if of_world else None
                answer = _answer(answering, functools.partial(work, *([world] if of_world else [])), passed, given)
                tell(answer, world, given, began, answering)

        lines = told.split("\n")
        help = "\n".join(line for line in lines if not line.startswith("$ ")).strip()
        run.__doc__ = "\n\n".join(filter(None, (row.help if row else None, help)))
        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in options}
        called = name or (row.called("command") if row else (verb or function.__name__).replace(".", " "))
        COMMANDS[called] = Made(run, examples(*(line[2:] for line in lines if line.startswith("$ "))))
        return function

    return decorate


def _calling(method: str) -> Callable[..., Any]:
    """A function that calls a method of a world with all options of its command."""
    return lambda world, **given: attrgetter(method)(world)(**gathered(given))


def _options(
    row: Verb | None, more: tuple[inspect.Parameter, ...], defaults: Mapping[str, Any], key: Callable[[str], Any] | None
) -> list[inspect.Parameter]:
    """The world, arguments, the verb's options, the command's own, and last those of many commands."""
    own = {one.name: one for one in more}
    found: dict[str, inspect.Parameter] = {}
    for of in row.at("command") if row else ():
        if not {of.name, of.at("command")} & own.keys():
            found[of.name] = parameter(replace(of, default=defaults.get(of.name, of.default)))
    argued = {name for name, one in own.items() if isinstance(_told(one), typer.models.ArgumentInfo)}
    argued |= {name for name, one in found.items() if one.default is inspect.Parameter.empty}

    def place(name: str) -> tuple[int, int]:
        if name in _LAST:
            return 4, _LAST.index(name)
        return (0 if own.get(name) is PATH else 1 if name in argued else 2 if name in found else 3), 0

    every = {**found, **own}
    return sorted(every.values(), key=lambda one: key(one.name) if key else place(one.name))


def _value(of: Option | None, value: Any) -> Any:
    """A value as the function of a command gets it: words as one text, and no empty list."""
    if isinstance(value, list):
        return (" ".join(value) if of is not None and of.kind == "text" else value) or None
    return value


def _told(one: inspect.Parameter) -> Any:
    return one.annotation.__metadata__[0]


def _opened(answering: Answering, given: Mapping[str, Any], opening: set[str]) -> Any:
    """The world of a command line: without an embedder where nothing is to be embedded."""
    dry = _any_of(answering.dry, given)
    idle = dry or given.get("embed") is False
    return opened(
        given["path"],
        write=answering.opens_to_write(given),
        create=answering.create,
        embedder="none" if idle else answering.embedder(given),
        dry_run=dry,
        **{name: given[name] for name in (one.name for one in VIEWS) if name in opening},
    )


def _answer(
    answering: Answering, function: Callable[..., Any], passed: Mapping[str, Any], given: Mapping[str, Any]
) -> Any:
    """Call the function of a command."""
    try:
        with waiting(answering.waiting) if answering.waiting else contextlib.nullcontext():
            return function(**passed)
    except KeyboardInterrupt as interrupt:
        if not answering.interrupted:
            raise
        raise Interrupted(answering.interrupted.format(**given)) from interrupt


def tell(answer: Any, world: Any, given: Mapping[str, Any], began: float, answering: Answering) -> None:
    """Print an answer as it is asked for, and exit with 1 if it fails."""
    if answer is None:
        return
    if world is not None and _is_change(answer):
        from worlds.doors.cli.changes import finish

        finish(world, answer, began, given, nothing=answering.nothing)
    elif given.get("json"):
        write_json(document(answer))
    else:
        _say_notes(answer)
        prefixes = {} if world is None else world.prefixes
        if _is_empty(answer):
            output().print(answering.empty, soft_wrap=True)
        elif answering.show is not None:
            answering.show(answer, prefixes)
        else:
            from worlds.doors.cli.show import print_answer

            says: Any = type(answer).__str__  # itself how people read it
            print_answer(output(), document(answer) if says is object.__str__ else str(answer), prefixes)
    if answering.fails(answer):
        raise typer.Exit(NO)


def document(answer: Any) -> Any:
    """An answer as JSON-ready values."""
    if isinstance(answer, Mapping):
        return {name: document(value) for name, value in answer.items()}
    if isinstance(answer, list | tuple):
        return list(map(document, answer))
    return answer.to_dict() if hasattr(answer, "to_dict") else answer


def _is_empty(answer: Any) -> bool:
    """Whether it holds nothing, or has nothing but empty lists and how many there are."""
    if isinstance(answer, Mapping) and any(isinstance(one, list | tuple) for one in answer.values()):
        return not any(answer.values())
    return not answer


def _is_change(answer: Any) -> bool:
    from worlds.core.history.diff import Diff
    from worlds.core.history.gate import Change

    return isinstance(answer, Change | Diff)


def _say_notes(answer: Any) -> None:
    for remark in answer.get("notes", ()) if isinstance(answer, Mapping) else getattr(answer, "notes", ()):
        note(str(remark))
