"""A world that wrong input must leave as it was."""

from __future__ import annotations

BIRDS = b"""
@prefix ex: <http://example.org/> .
ex:kite a ex:Bird ; ex:p "red kite"@en , "Rotmilan"@de .
ex:g { ex:heron a ex:Bird ; ex:p "grey heron"@en . }
"""
