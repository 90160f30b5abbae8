"""How a function becomes a command: its options are its verb's, its world is opened for it, its answer is printed."""

from __future__ import annotations

import contextlib
import gc
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, TypeVar

import typer

from worlds.core.search.options import Option, gathered
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import (
    EMBEDDER,
    ENTAILED_TOO,
    JSON,
    PATH,
    VIEWS,
    at_moment,
    examples,
    is_argument,
    opened,
    parameter,
)  # fmt: skip
from worlds.doors.cli.show import document, print_answer
from worlds.doors.cli.terminal import note, print_text, waiting, write_json
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
    the options that `dry` names nothing is embedded, and no world made. While it works, `waiting` is shown. The exit
    code is 1 where `fails` is true of the answer. `show` prints it; otherwise it is printed as any record, and `empty`
    if it holds nothing. `nothing` is said of a write that changed nothing.
    """

    writes: bool | str | Callable[[Mapping[str, Any]], bool] = False
    create: bool = False
    dry: str = "dry_run"
    embedder: Callable[[Mapping[str, Any]], str] = lambda given: given.get("embedder", "none")
    waiting: str = ""
    fails: Callable[[Any], bool] = lambda _: False
    show: Callable[[Any, Mapping[str, str]], None] | None = None
    empty: str = "nothing was found"
    nothing: str | None = None

    def opened(self, given: Mapping[str, Any], views: set[str]) -> Any:
        """The world of a command line: without an embedder where nothing is to be embedded."""
        writes = _any_of(self.writes, given) if isinstance(self.writes, str) else self.writes
        dry = _any_of(self.dry, given)
        return opened(
            given["path"],
            write=writes(given) if callable(writes) else writes,
            create=self.create,
            embedder="none" if dry or given.get("embed") is False else self.embedder(given),
            dry_run=dry,
            **{name: given[name] for name in views},
        )

    def tell(self, answer: Any, world: Any, given: Mapping[str, Any], began: float) -> None:
        """Print an answer as it is asked for, and exit with 1 if it fails."""
        if answer is None:
            return
        if world is not None and _is_change(answer):
            from worlds.doors.cli.changes import finish

            finish(world, answer, began, given, nothing=self.nothing)
        elif given.get("json"):
            write_json(document(answer))
        else:
            _print(answer, self.show, {} if world is None else world.prefixes, self.empty)
        if self.fails(answer):
            raise typer.Exit(NO)


def _any_of(names: str, options: Mapping[str, Any]) -> bool:
    """Whether one of the options is given."""
    return any(options.get(name) not in (None, False) for name in names.split())


def command(
    verb: str | None = None,
    *more: inspect.Parameter,
    name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    json: bool = True,
    **words: Any,
) -> Callable[[_F], _F]:
    """Make a command of a function, named `name`, like its verb, or like the function.

    It has the options of the verb, and `more`, which come in the place of the verb's if they have their names; the
    `defaults` are those of the command line, where they are not Python's. `verb` may also be a method without a row, or
    the name of a command that is no verb, a "." after its group.

    A function whose first parameter is `world` gets it opened, one with the parameter `asked` all options, as that
    one's attributes, and one with `**given` those that are given; it returns what is to be printed, None for nothing. A
    function without parameters is no more than a docstring: its command calls the method. The docstring is the help,
    and its lines that begin with $ are examples. `words` are those of `Answering`.
    """
    row = VERBS.get(verb or "")
    answering = Answering(**{"writes": row is not None and row.effect != "reads", **words})

    def decorate(function: _F) -> _F:
        work = function if inspect.signature(function).parameters or verb is None else _calling(verb)
        own = inspect.signature(work).parameters
        of_world = next(iter(own), "") == "world"
        options = _options(row, (*([PATH] if of_world else []), *more, *([JSON] if json else [])), defaults or {})
        opening = {one.name for one in options if one in (PATH, JSON, EMBEDDER, ENTAILED_TOO, *VIEWS)}

        rest = any(one.kind is one.VAR_KEYWORD for one in own.values())
        views = {one.name for one in VIEWS} & opening
        known: Mapping[str, Option] = row.options if row else {}

        def run(**given: Any) -> None:
            began = time.perf_counter()
            given = {name: _value(known.get(name), value) for name, value in given.items()}
            passed = {name: value for name, value in given.items() if name in own}
            if rest:
                passed |= {name: given[name] for name in given.keys() - own.keys() - opening if given[name] is not None}
            if "asked" in own:
                passed["asked"] = SimpleNamespace(**given)
            with contextlib.ExitStack() as stack:
                world = stack.enter_context(answering.opened(given, views)) if of_world else None
                if of_world:
                    passed = {name: _value(known.get(name), value, world) for name, value in passed.items()}
                    passed["world"] = world
                if not gc.isenabled():  # `main` is running, and all is imported
                    gc.freeze()
                    gc.enable()
                with waiting(answering.waiting):
                    answer = work(**passed)
                answering.tell(answer, world, given, began)

        lines = (inspect.getdoc(function) or "").split("\n")
        help = "\n".join(line for line in lines if not line.startswith("$ ")).strip()
        run.__doc__ = "\n\n".join(filter(None, (row.help if row else None, help)))
        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in options}
        called = name or (row.called("command") if row else (verb or function.__name__).replace(".", " "))
        COMMANDS[called] = Made(run, examples(*(line[2:] for line in lines if line.startswith("$ "))))
        return function

    return decorate


def _calling(method: str) -> Callable[..., Any]:
    """A function that calls a method of a world with the options of its command that are given."""
    return lambda world, **given: attrgetter(method)(world)(**gathered(given))


def _options(
    row: Verb | None, more: tuple[inspect.Parameter, ...], defaults: Mapping[str, Any]
) -> list[inspect.Parameter]:
    """The world, arguments, the verb's options, the command's own, and last those of many commands."""
    own = {one.name: one for one in more}
    found = {
        of.name: parameter(replace(of, default=defaults.get(of.name, of.default)))
        for of in (row.at("command") if row else ())
        if not {of.name, of.at("command")} & own.keys()
    }

    def place(one: inspect.Parameter) -> tuple[int, int]:
        if one.name in _LAST:
            return 4, _LAST.index(one.name)
        return (0 if one is PATH else 1 if is_argument(one) else 2 if one.name in found else 3), 0

    return sorted({**found, **own}.values(), key=place)


def _value(of: Option | None, value: Any, world: Any = None) -> Any:
    """A value as the function of a command gets it: words as one text, no empty list, revisions as a world has them."""
    kind = None if of is None else of.kind
    if isinstance(value, list):
        return (" ".join(value) if kind == "text" else value) or None
    return at_moment(world, value) if kind == "revision" and world is not None and value is not None else value


def _print(
    answer: Any, show: Callable[[Any, Mapping[str, str]], None] | None, prefixes: Mapping[str, str], empty: str
) -> None:
    """Print an answer for people, its notes before it."""
    for remark in answer.get("notes", ()) if isinstance(answer, Mapping) else getattr(answer, "notes", ()):
        note(str(remark))
    if _is_empty(answer):
        print_text(empty)
    elif show is not None:
        show(answer, prefixes)
    elif isinstance(text := getattr(answer, "text", None), str):
        print_text(text)
    else:
        says: Any = type(answer).__str__  # itself how people read it
        print_answer(document(answer) if says is object.__str__ else str(answer), prefixes)


def _is_empty(answer: Any) -> bool:
    """Whether it holds nothing, or has nothing but empty lists and how many there are."""
    if isinstance(answer, Mapping) and any(isinstance(one, list | tuple) for one in answer.values()):
        return not any(answer.values())
    return not answer


def _is_change(answer: Any) -> bool:
    from worlds.core.history.diff import Diff
    from worlds.core.history.gate import Change

    return isinstance(answer, Change | Diff)
