"""The full-text index of a world, alone: its tokenizer, as the schema has it."""

from __future__ import annotations

import re

from worlds.sql import schema

_found = re.search(r"tokenize = (\".*\"|'.*')\n", schema())
assert _found
CREATE_TEXTS = f"CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = {_found[1]})"
