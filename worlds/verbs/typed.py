"""Whether the arguments of a verb are what its signature says, looked at before anything is done."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np

from worlds.errors import ArgumentError
from worlds.verbs.verb import Verb

F = TypeVar("F", bound=Callable[..., Any])

_FORMS: dict[str, tuple[str, tuple[type, ...]]] = {
    "None": ("", (type(None),)),
    "bool": ("True or False", (bool,)),
    "str": ("a str", (str,)),
    "int": ("a whole number", (int, Integral)),
    "float": ("a number", (int, float, Real)),
    "Mapping": ("a mapping", (dict, Mapping)),
    "Collection": ("a text or a list of texts", (str, Collection)),
    **dict.fromkeys(("Iterable", "Sequence", "tuple"), ("a list", (list, tuple, Iterable))),
}


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a verb has another type than its annotation: ValueError at every door, TypeError in Python."""


class _Form(NamedTuple):
    told: str
    kinds: tuple[type, ...]

    def check(self, name: str, value: object) -> None:
        """The error, where a value is not of the form; a bool is no number, and a text no list."""
        alone = next((kind for kind in (bool, str, bytes) if isinstance(value, kind)), None)
        fits = alone in self.kinds if alone else isinstance(value, self.kinds)
        if Collection in self.kinds and fits and not alone:
            fits = all(isinstance(one, str) for one in value)  # type: ignore[attr-defined]  # it is one
        if not fits:
            raise ArgumentTypeError(f"{name} must be {self.told}, not {value!r}")


def typed(verb: Verb, method: F) -> F:
    """The method of a verb, which refuses an argument of another type than its annotation, if known here.

    A search looks at its options itself.
    """
    code = inspect.unwrap(method).__code__
    names = code.co_varnames[1 : code.co_argcount]
    own = {name for name, option in verb.options.items() if option.group and option.kind != "boolean"}
    forms = {name: form for name, told in method.__annotations__.items() if name not in own and (form := _form(told))}

    @functools.wraps(method)
    def called(world: Any, *arguments: Any, **options: Any) -> Any:
        for name, value in (*zip(names, arguments, strict=False), *options.items()) if arguments else options.items():
            if name in forms and type(value) not in forms[name].kinds:
                if isinstance(value, np.bool_):  # which every option that may be one has by its name
                    value = options[name] = bool(value)
                forms[name].check(name, value)
        return method(world, *arguments, **options)

    return called  # type: ignore[return-value]  # the same signature


def _form(annotation: str) -> _Form | None:
    """The form of values by an annotation, which was not evaluated; None for an annotation that this does not know."""
    parts = re.sub(r"\[([^][]|\[[^][]*\])*\]", "", annotation).split(" | ")
    if annotation in ("str", "int") or not _FORMS.keys() >= set(parts):  # others word these, of what must be given
        return None
    told = " or ".join(filter(None, (_FORMS[part][0] for part in parts)))
    return _Form(told, tuple(kind for part in parts for kind in _FORMS[part][1]))
