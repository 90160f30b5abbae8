"""Keeps the text of a query or an update from crashing the process, and from reaching the network.

pyoxigraph's parser, optimizer and evaluator recurse over what they read, and a stack that overflows kills the process.
How deep they go is bounded by the number of tokens, and more tightly by that of brackets. So a text may have so many
of both, and what is not plainly small is run on a stack that has room for them.
"""

from __future__ import annotations

import queue
import re
import resource
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

from worlds.errors import QueryError
from worlds.graph.tokens import Token, error_at, tokenize

T = TypeVar("T")
Functions = Mapping[Any, Callable[..., Any]]

DEEPEST = 256  # nested groups and brackets
MOST_TOKENS = 20_000  # of an operation, without data and the other items of lists

# Measured: a token takes 7.6 KB of stack at most (an item of a collection), a character 3.6 KB ("1 " of the same).
_A_TOKEN = 16 << 10  # bytes
_A_CHARACTER = 8 << 10  # bytes
_LEAST_STACK, _MOST_STACK = 16 << 20, 512 << 20  # bytes, of which a thread takes only those that it touches
_UNCOUNTED = _MOST_STACK // _A_CHARACTER  # characters: a shorter text has room whatever its tokens are
assert MOST_TOKENS * _A_TOKEN <= _MOST_STACK

_starting = threading.Lock()  # the size of a new thread's stack is a setting of the whole process
