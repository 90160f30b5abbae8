"""What is wrong with a query that does not parse, where it is one of the mistakes that people and models make.

The parser tells where it stopped and what it would have taken there, which is often far from the mistake.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from worlds.errors import QueryError
from worlds.graph.query.tokens import CLOSING, OPENING, Token, scan

_AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
_FUNCTIONS = frozenset(
    """
    ABS BNODE BOUND CEIL COALESCE CONCAT CONTAINS DATATYPE DAY ENCODE_FOR_URI FLOOR HASLANG HASLANGDIR HOURS IF IRI
    ISBLANK ISIRI ISLITERAL ISNUMERIC ISTRIPLE ISURI LANG LANGDIR LANGMATCHES LCASE MD5 MINUTES MONTH NOW OBJECT
    PREDICATE RAND REGEX REPLACE ROUND SAMETERM SECONDS SHA1 SHA256 SHA384 SHA512 STR STRAFTER STRBEFORE STRDT STRENDS
    STRLANG STRLANGDIR STRLEN STRSTARTS STRUUID SUBJECT SUBSTR TIMEZONE TRIPLE TZ UCASE URI UUID YEAR ADJUST
    """.split()  # noqa: SIM905
)
_BEFORE_BRACKETS = frozenset(
    """
    SELECT DISTINCT REDUCED WHERE FILTER BIND VALUES BY GROUP HAVING ORDER ASC DESC IN NOT EXISTS OPTIONAL MINUS UNION
    AS UNDEF LATERAL SERVICE SILENT GRAPH LIMIT OFFSET A FROM NAMED SEPARATOR TRUE FALSE ASK CONSTRUCT DESCRIBE
    """.split()  # noqa: SIM905
)
_ELSEWHERE: Mapping[str, str] = {  # names of other languages
    "LENGTH": "STRLEN", "LEN": "STRLEN", "LOWER": "LCASE", "LOWERCASE": "LCASE", "UPPER": "UCASE", "UPPERCASE": "UCASE",
    "SUBSTRING": "SUBSTR", "STARTSWITH": "STRSTARTS", "ENDSWITH": "STRENDS", "IFNULL": "COALESCE", "NVL": "COALESCE",
    "ISNULL": "!BOUND", "TOLOWER": "LCASE", "TOUPPER": "UCASE", "STRING": "STR", "DATE": "xsd:date",
    "INT": "xsd:integer", "INSTR": "CONTAINS", "MATCHES": "REGEX", "LANGUAGE": "LANG", "TYPE": "DATATYPE",
}  # fmt: skip
_OPERATORS: Mapping[str, str] = {"AND": "&&", "OR": "||", "LIKE": 'REGEX(?x, "…") or CONTAINS(?x, "…")', "IS": "="}
_CLAUSES = ("GROUP", "HAVING", "ORDER", "LIMIT")

Found = tuple[str, int]  # what to say, and the place


def mistake(text: str) -> Found | None:
    """What is wrong with a query or an update that does not parse, and where; None where it is nothing known."""
    try:
        tokens = list(scan(text))
    except QueryError:
        return None
    for look in _LOOKS:
        for found in look(text, tokens):
            return found
    return None


def _brackets(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    waiting: list[Token] = []
    for token in tokens:
        if token.kind != "mark":
            continue
        if token.text in OPENING:
            waiting.append(token)
        elif token.text in CLOSING:
            if not waiting:
                yield f"the {token.text} closes nothing", token.start
                return
            if waiting[-1].text != CLOSING[token.text]:
                yield f"the {waiting[-1].text} is not closed", waiting[-1].start
                return
            waiting.pop()
    if waiting:
        yield f"the {waiting[-1].text} is not closed", waiting[-1].start


def _projection(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    """What stands between SELECT and its braces."""
    grouped = any(token.is_word("GROUP") for token in tokens)
    for at, token in enumerate(tokens):
        if not token.is_word("SELECT"):
            continue
        depth, bare, sums = 0, [], False
        for place in range(at + 1, len(tokens)):
            one = tokens[place]
            if one.text == "{" or one.is_word("WHERE", "FROM", "SELECT"):
                break
            depth += (one.text == "(") - (one.text == ")")
            if one.text == "," and not depth:
                yield "between the variables of SELECT there are spaces, and no commas", one.start
            if one.is_word(*_AGGREGATES):
                sums = True
                if not depth:
                    end = _closing(tokens, place + 1)
                    named = end + 2 < len(tokens) and tokens[end + 1].is_word("AS")
                    name = tokens[end + 2].text if named else "?n"
                    told = f"({text[one.start : tokens[end].end]} AS {name})"
                    yield f"an expression of SELECT stands in parentheses, with a name: {told}", one.start
            if one.kind == "variable" and not depth:
                bare.append(one)
        if sums and bare and not grouped:
            names = " ".join(one.text for one in bare)
            yield (
                f"{names} {'is' if len(bare) == 1 else 'are'} selected beside an aggregate: add GROUP BY {names}",
                bare[0].start,
            )


def _closing(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place].text == "(") - (tokens[place].text == ")")
        if depth <= 0:
            return place
    return len(tokens) - 1


def _operators(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    for token, after in pairwise(tokens):
        if token.text == after.text == "=" and token.end == after.start:
            yield "values are compared by a single =", token.start
        if (token.text == "<>" and token.kind == "iri") or (token.text == "<" and after.text == ">"):
            yield "values that differ are compared by !=", token.start
        if token.is_word(*_OPERATORS) and token.text.upper() in _OPERATORS:
            yield f"{token.text} is no operator: write {_OPERATORS[token.text.upper()]}", token.start
        if token.is_word("FILTER") and after.kind in ("variable", "string", "number"):
            yield "what FILTER tests stands in parentheses: FILTER (…)", token.start
        if token.is_word("OPTIONAL", "MINUS", "UNION", "EXISTS", "WHERE") and after.text != "{":
            yield f"after {token.text.upper()} comes a group in braces: {token.text.upper()} {{ … }}", token.start
        if token.kind == "variable" and after.is_word("ASC", "DESC"):
            yield f"the direction stands before the variable: {after.text.upper()}({token.text})", after.start


def _functions(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    for token, after in pairwise(tokens):
        name = token.text.upper()
        if token.kind != "word" or after.text != "(" or name in _BEFORE_BRACKETS:
            continue
        if name not in _FUNCTIONS and name not in _AGGREGATES:
            near = [_ELSEWHERE[name]] if name in _ELSEWHERE else difflib.get_close_matches(name, _FUNCTIONS, 1, 0.7)
            hint = f": did you mean {near[0]}?" if near else "; functions of your own and of XPath are named by IRIs"
            yield f"SPARQL has no function {token.text}{hint}", token.start


def _clauses(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    """GROUP BY, HAVING, ORDER BY, and LIMIT or OFFSET come in this order."""
    before: Token | None = None
    depth = 0
    for token in tokens:
        depth += (token.text == "{") - (token.text == "}")
        if depth or not token.is_word(*_CLAUSES):
            continue
        if before is not None and _CLAUSES.index(token.text.upper()) < _CLAUSES.index(before.text.upper()):
            by = " BY" if token.is_word("GROUP", "ORDER") else ""
            yield f"{token.text.upper()}{by} stands before {before.text.upper()}", token.start
        before = token


_LOOKS: tuple[Callable[[str, Sequence[Token]], Iterator[Found]], ...] = (
    _brackets, _operators, _projection, _functions, _clauses,
)  # fmt: skip
