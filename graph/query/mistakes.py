"""The fault of a query that does not parse, where it is one of the mistakes that people and models make.

The parser tells where it stopped and what it would have taken there, which is often far from the mistake.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from worlds.errors import QueryError
from worlds.graph.query.tokens import CLOSING, OPENING, Token, scan, spliced

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
_VALUES = ("variable", "string", "language", "number")
_CLAUSES = ("GROUP", "HAVING", "ORDER", "LIMIT")
_GROUPED = "what is selected of groups stands in GROUP BY or in an aggregate, such as (SAMPLE(?x) AS ?y)"
_FORMS = ("SELECT", "CONSTRUCT", "DESCRIBE")
_RULES: Mapping[str, tuple[str, tuple[str, ...]]] = {  # what the parser says → what to say, and of which word or kind
    "The SELECT contains a": (_GROUPED, _FORMS),
    "Duplicated variable name in SELECT": ("a variable stands twice in SELECT", _FORMS),
    "The SELECT overrides": ("what SELECT names by AS has a value already: take another name", _FORMS),
    "SELECT * is not authorized": ("with GROUP BY, SELECT names its variables; other forms take a sub-SELECT", _FORMS),
    "The query limit should be": ("LIMIT must be a whole number of 19 digits at most", ()),
    "The query offset should be": ("OFFSET must be a whole number of 19 digits at most", ()),
    "Variables are not allowed in INSERT": (
        "INSERT DATA has no variables: write INSERT { … } WHERE { … }",
        ("variable",),
    ),
    "Variables and blank nodes are not allowed in DELETE": (
        "DELETE DATA has no variables and no blank nodes: write DELETE { … } WHERE { … }",
        ("variable", "blank"),
    ),
    "IRI parsing failed": ("this is not a valid IRI", ()),
    "language tag parsing failed": ("this is not a language tag", ()),
}
_RELATIVE = re.compile(r"<[\w./#~%-]*>")  # as far as it is no comparison, such as ?a<?b&&?b>?c

Found = tuple[str, int]  # what to say, and the place


def mistake(text: str, parser: tuple[str, int], parses: Callable[[str], bool] | None = None) -> Found | None:
    """The fault of a query or an update that does not parse, and its place; None where no known mistake fits.

    `parser` is what the parser expected, and where; `parses` tells whether a text like it does.
    """
    try:
        tokens = list(scan(text))
    except QueryError:
        return None
    last = (_named(text, tokens, parses), _ruled(tokens, *parser), _templates(tokens, parser[1]))
    looks = (*(look(text, tokens) for look in _LOOKS), *last)
    return next((found for look in looks for found in look), None)


def _named(text: str, tokens: Sequence[Token], parses: Callable[[str], bool] | None) -> Iterator[Found]:
    """A name after AS that is in use, which the parser does not tell: with another one, the text parses."""
    fresh = next(name for number in itertools.count() if (name := f"?as{number}") not in text)
    for before, token in reversed(list(pairwise(tokens))):
        if parses and before.is_word("AS") and parses(spliced(text, [(token.start, token.end, fresh)])):
            yield f"{token.text} has a value already: take another name after AS", token.start


def _ruled(tokens: Sequence[Token], expected: str, offset: int) -> Iterator[Found]:
    """A rule of syntax that the parser reports late, after the token that breaks it; with that token's place."""
    before = [token for token in reversed(tokens) if token.start < offset]
    for rule, (told, words) in _RULES.items():
        depth = 0
        for token in before if rule in expected else ():
            depth += (token.text == "}") - (token.text == "{")
            if token.kind in words or (depth <= 0 and (not words or token.is_word(*words))):
                yield told, token.start


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
    """Mistakes between SELECT and its braces."""
    grouped = any(token.is_word("GROUP") for token in tokens)
    for at, token in enumerate(tokens):
        if not token.is_word("SELECT"):
            continue
        depth, bare, sums, opened = 0, [], False, at
        for place in range(at + 1, len(tokens)):
            one = tokens[place]
            if one.text == "{" or one.is_word("WHERE", "FROM", "SELECT"):
                break
            if one.text == "(" and not depth:
                opened = place
            depth += (one.text == "(") - (one.text == ")")
            if one.text == "," and not depth:
                yield "between the variables of SELECT there are spaces, and no commas", one.start
            sums = sums or one.is_word(*_AGGREGATES)
            if one.text == ")" and not depth:
                before = tokens[opened - 1]
                call = before.kind in ("word", "name", "iri") and not before.is_word("SELECT", "DISTINCT", "REDUCED")
                if call or not tokens[place - 2].is_word("AS"):
                    made = text[before.start : one.end] if call else text[tokens[opened].end : one.start].strip()
                    made = re.sub(r"(?<=\))\s*[?$]\w+$", "", made)  # (COUNT(?x) ?n)
                    named = place + 2 < len(tokens) and tokens[place + 1].is_word("AS")
                    told = f"({made} AS {tokens[place + 2].text if named else '?n'})"
                    yield (
                        f"an expression of SELECT stands in parentheses, with a name: {told}",
                        tokens[opened - call].start,
                    )
            word = one.kind == "word" and not depth and one.text.upper() not in _BEFORE_BRACKETS
            if word and place + 1 < len(tokens) and tokens[place + 1].text != "(":
                near = difflib.get_close_matches(one.text.upper(), ("FROM", "WHERE"), 1, 0.7)
                told = f"{one.text} is not a word of SPARQL: write {near[0]}" if near else ""
                yield told or f"a variable begins with ?: write ?{one.text}", one.start
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


def _relative(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        compares = token.text == "<>" and before and (before.kind in _VALUES or before.text == ")")
        if token.kind == "iri" and _RELATIVE.fullmatch(token.text) and not compares:
            yield f"{token.text} is relative: write the whole IRI, or BASE <http://…/> before the query", token.start
        if before and before.is_word("BASE"):
            return


def _rows(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    """A row of VALUES has a term for each variable."""
    for at, token in enumerate(tokens[:-1]):
        if not token.is_word("VALUES") or tokens[at + 1].text != "(":
            continue
        last = _closing(tokens, at + 1)
        count = last - at - 2
        if len({one.text[1:] for one in tokens[at + 2 : last]}) < count:
            yield "a variable stands twice in VALUES", token.start
        place = last + 2
        while place < len(tokens) and tokens[place].text == "(":
            last = _closing(tokens, place)
            row = tokens[place + 1 : last]
            terms = sum((one.kind not in ("mark", "language")) - (one.text == "^^") for one in row)
            if terms != count and not any(one.text.startswith("<<") for one in row):
                told = f"a row of VALUES has a term for each variable, here {count}, not {terms}; UNDEF is not a value"
                yield told, tokens[place].start
            place = last + 1


def _templates(tokens: Sequence[Token], offset: int) -> Iterator[Found]:
    depth = 0
    if not tokens or offset < tokens[-1].end:
        return  # the parser has not read all
    for before, token in reversed(list(pairwise(tokens))):
        depth += (token.text == "}") - (token.text == "{")
        if not depth:
            if token.text == "{" and before.is_word("CONSTRUCT", "INSERT", "DELETE"):
                yield f"after {before.text.upper()} {{ … }} comes WHERE {{ … }}", tokens[-1].end
            return


def _operators(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    for token, after in pairwise(tokens):
        if token.text == after.text == "=" and token.end == after.start:
            yield "values are compared by a single =", token.start
        if (token.text == "<>" and token.kind == "iri") or (token.text == "<" and after.text == ">"):
            yield "values that differ are compared by !=", token.start
        if token.is_word(*_OPERATORS) and token.text.upper() in _OPERATORS:
            yield f"{token.text} is not an operator: write {_OPERATORS[token.text.upper()]}", token.start
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


def _beyond(text: str, tokens: Sequence[Token]) -> Iterator[Found]:
    """After a group, or a number of LIMIT or OFFSET, come clauses alone."""
    depth = 0
    for before, token in pairwise(tokens):
        depth += (before.text in OPENING) - (before.text in CLOSING)
        if depth or (before.text != "}" and before.kind != "number") or token.text in ("{", ";"):
            continue
        if not token.is_word(*_CLAUSES, "OFFSET", "VALUES", "FROM", "WHERE", "INSERT", "DELETE", "USING"):
            yield f"unexpected {token.text[:40]!r}", token.start


_LOOKS: tuple[Callable[[str, Sequence[Token]], Iterator[Found]], ...] = (
    _brackets, _relative, _operators, _projection, _functions, _clauses, _rows, _beyond,
)  # fmt: skip
