"""Expressions of queries: what pyoxigraph's operators and functions get wrong is asked of functions of our own.

An operator of pyoxigraph is right, or an error, on the values that it has room for. So it is asked first and ours only
where it fails, `COALESCE(?a + ?b, calculated("0 1 +", ?a, ?b))`: what it can answer costs what it did. A query whose
answer turns out to have numbers for which it has no room is asked once more, with all that numbers meet rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.exact import OURS, is_wide
from worlds.graph.query.query import Query
from worlds.graph.query.regular_expressions import PatternError, UnsupportedPatternError, translated
from worlds.graph.query.tokens import Edit, Token, by_text, closing, error_at, spliced
from worlds.graph.query.values import CASTS
from worlds.graph.terms import XSD

_LONGEST = 20_000  # characters of a comparison
_SHORT = 400  # characters of operands that may be written twice
_POWER = {"||": 1, "&&": 2, "IN": 3, "+": 4, "-": 4, "*": 5, "/": 5, "u!": 6, "u+": 6, "u-": 6}
_POWER |= dict.fromkeys(("=", "!=", "<", ">", "<=", ">="), 3)
_TESTS = "BOUND EXISTS ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC ISTRIPLE REGEX CONTAINS STRSTARTS STRENDS LANGMATCHES"
_BOOLEAN = frozenset([*_TESTS.split(), "SAMETERM", "HASLANG", "HASLANGDIR"])
_WIDENED = ("ABS", "CEIL", "FLOOR", "ROUND")

# What certainly needs no repair, as far as it goes: strings, comments, names, paths, calls, signs, comparisons.
_NAME = r"(?:[^\W\d_][\w.\-]*+)?:[\w.\-%:\\]*+"
_IRI = r'<[^<>"{}|^`\\\x00-\x20]*+>'
_STRING = r"""(?:'''(?:'{0,2}(?:[^'\\]|\\.))*+'''|\"{3}(?:"{0,2}(?:[^"\\]|\\.))*+\"{3}"""
_STRING += r"""|'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
_VARIABLE = r"[?$]\w+"
_BARE = rf"\s*{_VARIABLE}\s*(?:\)|&&|\|\|)"  # a variable that is a condition
_SUSPECT = "SUM|AVG|REGEX|REPLACE|GROUP_CONCAT|HAVING|STRDT|IF|COALESCE|TRUE|FALSE|LCASE|UCASE|SUBSTR|CONCAT|STRBEFORE"
_SUSPECT += "|STRAFTER|STRLANG|STRLANGDIR|SAMPLE|MIN|MAX|COUNT"
_PLAIN = re.compile(
    rf"""(?:
      [\s.;,{{}}\[\])=>@^]++
    | [?$]\w*+
    | (?:{_NAME}|{_IRI})(?!\s*\()(?:\s*[*+/])?
    | \ba\b\s*[*+/]
    | (?!(?:{_SUSPECT}|FILTER|SELECT)\b)\w++(?!(?:[.\-][\w.\-]*)?:)(?:\s*\(\s*[?$]\w+\s*\))?+
    | {_STRING}(?:@[\w\-]+|\s*\^\^\s*(?:{_IRI}|{_NAME}))?
    | FILTER\b(?!\s*[?$])
    | SELECT\b(?:\s+(?:(?:DISTINCT|REDUCED)\s+)?\*)?
    | COUNT\s*\(\s*(?:DISTINCT\s*)?(?:\*|{_VARIABLE}\s*\))
    | (?:\(|&&|\|\|)(?!{_BARE}|\s*{_STRING}\s*(?:@|\^\^))
    | (?:(?<=[=<>(,{{])|(?<=[=<>(,{{]\s))[+\-](?=[\d.])
    | !(?:=|\s*(?:{"|".join(_BOOLEAN)})\b(?:\s*\(\s*[?$]\w+\s*\))?+)
    | \#[^\r\n]*+
    | \|(?!\|)
    | [^\w+*/!&|(\-<"'#:]
    | <(?!{_IRI[1:]})
    )*+""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_LONG = re.compile(r"[0-9]{16}")


@by_text(512)
def plain(text: str) -> bool:
    """Whether a query surely has nothing that is rewritten where no number is too wide; costs next to nothing."""
    match = _PLAIN.match(text)
    return match is not None and match.end() == len(text) and _LONG.search(text) is None


@dataclass(slots=True)
class _Node:
    """An expression as it will be written; for arithmetic, the form for pyoxigraph, and the steps of this module."""

    text: str
    boolean: bool = False
    constant: str | None = None  # of a plain text
    steps: list[str] | None = None
    operands: list[str] = field(default_factory=list)

    def done(self) -> str:
        """The text, to stand as an operand of anything."""
        if self.steps is None:
            return self.text
        return _first(self.text, _call("calculated", f'"{" ".join(self.steps)}"', *self.operands))


class _NoExpressionError(Exception):
    """The tokens are no expression."""


class UnreadError(QueryError):
    """An expression that is not read here; most are none, which pyoxigraph's parser tells better."""


def _call(name: str, *arguments: str) -> str:
    return f"<{OURS}{name}>({', '.join(arguments)})"


def _first(theirs: str, ours: str) -> str:
    """pyoxigraph's answer, or else this module's; only this module's if the text would grow too long."""
    return f"COALESCE({theirs}, {ours})" if len(theirs) <= _SHORT else ours


def _truth(node: _Node) -> str:
    """The effective boolean value (SPARQL 1.1, 17.2.2)."""
    text = node.done()
    return text if node.boolean else _first(f"IF({text}, true, false)", _call("truth", text))


def _condition(node: _Node) -> str:
    """The text after FILTER or HAVING."""
    return node.text if node.boolean else f"({_truth(node)})"


def _arithmetic(operator: str, left: _Node, right: _Node, text: str) -> _Node:
    steps, operands = (["0"], [left.text]) if left.steps is None else (left.steps, left.operands)
    if right.steps is None:
        steps.append(str(len(operands)))
        operands.append(right.text)
    else:
        steps += [str(int(step) + len(operands)) if step.isdigit() else step for step in right.steps]
        operands += right.operands
    steps.append(operator)
    return _Node(text, steps=steps, operands=operands)


def _number(text: str) -> ox.Literal:
    kind = "double" if "e" in text.lower() else "decimal" if "." in text else "integer"
    return ox.Literal(text, datatype=ox.NamedNode(XSD + kind))


@dataclass(slots=True)
class _Frame:
    """An open bracket: its function or operator, and the content read so far."""

    call: str  # the word or the IRI before it, "(" for none, "IN", "NOT IN"
    start: int  # the token of the call
    operands: list[_Node] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    arguments: list[_Node] = field(default_factory=list)
    distinct: str = ""
    rest: str = ""  # the separator of GROUP_CONCAT
    wants: bool = True  # an operand comes next


class Rewriter:
    """Rewrites the expressions of one query; `wide` where numbers may be wider than pyoxigraph's."""

    def __init__(self, query: Query, *, wide: bool) -> None:
        self._query = query
        self._text = query.text
        self._tokens = [*query.tokens, Token("mark", "", len(query.text), len(query.text))]  # the last one ends all
        self._wide = wide or self._has_wide()
        booleans = any(token.is_word("TRUE", "FALSE") or query.iri(token) == XSD + "boolean" for token in self._tokens)
        self._compares = self._wide or booleans

    def _has_wide(self) -> bool:
        """Whether the query itself has numbers that are too wide, or may make some of texts."""
        if any(is_wide(term) for term in self._query.bindings.values()):
            return True
        for at, token in enumerate(self._tokens):
            if token.is_word("STRDT"):
                return True
            if token.kind == "number" and len(token.text) > 15 and is_wide(_number(f"-{token.text}")):
                return True
            if token.kind == "string" and len(token.text) > 15 and self._tokens[at + 1].text == "^^":
                iri = self._query.iri(self._tokens[at + 2])
                if iri is not None and is_wide(ox.Literal(token.unquoted(), datatype=ox.NamedNode(iri))):
                    return True
        return False

    # -- clauses ---------------------------------------------------------------------------------------------------

    def edits(self, at: int = 0, end: int | None = None) -> Iterator[Edit]:
        """The edits of expressions among the tokens from `at` up to `end`."""
        tokens, end = self._tokens, len(self._tokens) - 1 if end is None else end
        clause = ""
        while at < end:
            token = tokens[at]
            if token.is_word("FILTER") and self._begins(at + 1, "FILTER"):
                node, after = self._expression(at + 1, single=True)
                yield self._edit(at + 1, after, _condition(node))
                at = after
            elif token.is_word("BIND") or (token.text == "(" and clause == "SELECT"):
                begin = at + 1 + (token.text != "(")
                node, at = self._expression(begin)
                yield self._edit(begin, at, node.done())
            elif token.is_word("VALUES"):
                while self._tokens[at].text not in ("}", ""):
                    at += 1
            elif token.is_word("SELECT", "HAVING"):
                clause, at = token.text.upper(), at + 1
            elif token.is_word("BY"):
                clause, at = tokens[at - 1].text.upper(), at + 1
            elif clause in ("HAVING", "GROUP", "ORDER") and self._begins(at, clause):
                at = yield from self._condition(at, clause)
            else:
                if token.text in ("{", "}") or token.is_word("WHERE", "FROM", "LIMIT", "OFFSET"):
                    clause = ""
                at += 1

    def _begins(self, at: int, clause: str) -> bool:
        token = self._tokens[at]
        if token.kind == "variable":
            return clause == "ORDER"
        calls = token.kind in ("iri", "name", "word") and self._tokens[at + 1].text == "("
        return token.text == "(" or calls or token.is_word("EXISTS", "NOT")

    def _condition(self, at: int, clause: str) -> Generator[Edit, None, int]:
        if clause == "GROUP" and self._tokens[at].text == "(":
            node, after = self._expression(at + 1)
            yield self._edit(at + 1, after, node.done())
            while self._tokens[after].text != ")":
                after += 1
            return after + 1
        at += self._tokens[at].is_word("ASC", "DESC")
        node, after = self._expression(at, single=True)
        if clause == "HAVING":
            yield self._edit(at, after, _condition(node))
        elif clause == "ORDER" and self._wide:
            yield self._edit(at, after, f"({_call('order', node.done())})")
        else:
            yield self._edit(at, after, node.done() if node.steps is None else f"({node.done()})")
        return after

    def _edit(self, first: int, after: int, text: str) -> Edit:
        """The text in the place of tokens, unless it has but other spaces."""
        given = self._source(first, after)
        same = "".join(text.split()) == "".join(given.split())
        return self._tokens[first].start, self._tokens[after - 1].end, given if same else text

    # -- expressions -----------------------------------------------------------------------------------------------

    def _expression(self, at: int, *, single: bool = False) -> tuple[_Node, int]:
        """The expression that begins at a token, and the token after it; with `single`, a bracket or a call alone."""
        frames = [_Frame("", at)]
        outermost = frames[0]
        while not (single and len(frames) == 1 and outermost.operands):
            frame, operator = frames[-1], self._tokens[at].text.upper()
            if frame.wants:
                at = self._operand(at, frames)
            elif operator in ("NOT", "IN"):
                negated = operator == "NOT"
                frames.append(_Frame("NOT IN" if negated else "IN", at))
                self._reduce(frame, _POWER["IN"])
                at += negated + 2
                frames[-1].wants = self._tokens[at].text != ")"
            elif operator in _POWER:
                self._reduce(frame, _POWER[operator])
                frame.operators.append(operator)
                frame.wants, at = True, at + 1
            elif len(frames) == 1:
                break
            elif operator in (",", ")", ";"):
                at = self._close(at, frames)
            else:
                raise _NoExpressionError
        self._reduce(outermost, 0)
        return outermost.operands[0], at

    def _operand(self, at: int, frames: list[_Frame]) -> int:
        """Read an operand, or a prefix of one; return the next token."""
        frame, token = frames[-1], self._tokens[at]
        if token.text in ("+", "-", "!"):
            number = self._tokens[at + 1]
            if token.text != "!" and number.kind == "number" and number.start == token.end:
                signed = token.text + number.text
                # pyoxigraph reads the number without its sign, for which it may have no room.
                return self._put(frame, _Node(str(_number(signed)) if len(signed) > 16 else signed), at + 2)
            if token.text != "!" and frame.operators[-1:] in (["u+"], ["u-"]):
                raise _NoExpressionError
            frame.operators.append(f"u{token.text}")
            return at + 1
        if token.text == "(":
            frames.append(_Frame("(", at))
            return at + 1
        if token.is_word("EXISTS") or (token.is_word("NOT") and self._tokens[at + 1].text.upper() == "EXISTS"):
            begin = at + 1 + token.is_word("NOT")
            after = closing(self._tokens, begin, "{", "}") + 1
            inside = spliced(self._text, self.edits(begin + 1, after - 1), token.start, self._tokens[after - 1].end)
            return self._put(frame, _Node(inside, boolean=True), after)
        if token.text == "<<(":
            after = closing(self._tokens, at, "<<(", ")>>") + 1
            return self._put(frame, _Node(self._source(at, after)), after)
        if token.kind in ("word", "iri", "name") and self._tokens[at + 1].text == "(":
            call = token.text.upper() if token.kind == "word" else self._query.iri(token) or token.text
            frames.append(_Frame(call, at))
            at += 2
            if self._tokens[at].text.upper() == "DISTINCT":
                frames[-1].distinct, at = "DISTINCT ", at + 1
            if self._tokens[at].text == "*" and self._tokens[at + 1].text == ")":
                frames[-1].arguments.append(_Node("*"))
                frames[-1].wants, at = False, at + 1
            elif self._tokens[at].text == ")":
                frames[-1].wants = False
            return at
        if token.kind == "string":
            typed = self._tokens[at + 1].text == "^^"
            tagged = self._tokens[at + 1].kind == "language"
            after = at + (3 if typed else 2 if tagged else 1)
            constant = None if typed or tagged else token.unquoted()
            return self._put(frame, _Node(self._source(at, after), constant=constant), after)
        if token.kind in ("variable", "iri", "name", "number") or token.is_word("TRUE", "FALSE"):
            return self._put(frame, _Node(token.text, boolean=token.kind == "word"), at + 1)
        raise _NoExpressionError

    def _put(self, frame: _Frame, node: _Node, after: int) -> int:
        following = self._tokens[after]
        if following.kind == "iri" and following.start == self._tokens[after - 1].end:
            told = "an IRI is not allowed here: write a space after a '<' that compares"
            raise error_at(told, self._text, following.start)
        frame.operands.append(node)
        frame.wants = False
        return after

    def _source(self, first: int, after: int) -> str:
        return self._text[self._tokens[first].start : self._tokens[after - 1].end]

    def _close(self, at: int, frames: list[_Frame]) -> int:
        """Take in a comma, a closing bracket or the separator of GROUP_CONCAT; the token after it."""
        frame, mark = frames[-1], self._tokens[at].text
        if frame.operands:
            self._reduce(frame, 0)
            frame.arguments.append(frame.operands.pop())
        if mark == ",":
            frame.wants = True
            return at + 1
        if mark == ";":
            after = at
            while self._tokens[after].text not in (")", ""):
                after += 1
            frame.rest = self._source(at, after)
            return after
        frames.pop()
        if frame.call in ("IN", "NOT IN"):
            outer = frames[-1]
            outer.operands.append(self._in(outer.operands.pop(), frame))
            return at + 1
        return self._put(frames[-1], self._called(frame), at + 1)

    def _reduce(self, frame: _Frame, power: int) -> None:
        """Apply the operators that bind as strongly as `power`, or more."""
        while frame.operators and _POWER[frame.operators[-1]] >= max(power, 1):
            operator = frame.operators.pop()
            right = frame.operands.pop()
            unary = operator[0] == "u"
            made = self._unary(operator[1], right) if unary else self._binary(operator, frame.operands.pop(), right)
            frame.operands.append(made)

    def _unary(self, operator: str, node: _Node) -> _Node:
        if operator == "!":
            return _Node(f"!{_truth(node)}", boolean=True)
        if operator == "-":
            return _arithmetic("-", _Node("0"), node, f"-{node.text}")
        return _arithmetic("-", node, _Node("0"), f"({node.text} - 0)")

    def _binary(self, operator: str, left: _Node, right: _Node) -> _Node:
        if operator in ("&&", "||"):
            return _Node(f"{_truth(left)} {operator} {_truth(right)}", boolean=True)
        if operator in ("+", "-", "*", "/"):
            return _arithmetic(operator, left, right, f"{left.text} {operator} {right.text}")
        return _Node(self._compared(operator, left.done(), right.done()), boolean=True)

    def _compared(self, operator: str, left: str, right: str) -> str:
        theirs = f"{left} {operator} {right}"
        if not self._wide and (not self._compares or operator in ("=", "!=")):
            return theirs
        if len(theirs) > _LONGEST:
            raise QueryError("the query has numbers wider than 64 bits, and a comparison too long for them")
        ours = _call("compared", f'"{operator}"', left, right)
        return f"COALESCE({theirs}, {ours})"

    # -- calls -----------------------------------------------------------------------------------------------------

    def _in(self, left: _Node, frame: _Frame) -> _Node:
        among = [node.done() for node in frame.arguments]
        if not self._wide or not among:
            return _Node(f"{left.done()} {frame.call} ({', '.join(among)})", boolean=True)
        found = " || ".join(self._compared("=", left.done(), one) for one in among)
        return _Node(f"({found})" if frame.call == "IN" else f"(!({found}))", boolean=True)

    def _called(self, frame: _Frame) -> _Node:
        """The node of a bracket with its arguments."""
        call, arguments = frame.call, frame.arguments
        if call == "(":
            if len(arguments) != 1:
                raise _NoExpressionError
            inner = arguments[0]
            return _Node(f"({inner.text})", inner.boolean, inner.constant, inner.steps, inner.operands)
        texts = [node.done() for node in arguments]
        boolean = call in _BOOLEAN
        if call == "IF" and len(arguments) == 3:
            texts[0] = _truth(arguments[0])
            boolean = arguments[1].boolean and arguments[2].boolean
        elif call == "COALESCE":
            boolean = all(node.boolean for node in arguments)
        name = self._tokens[frame.start].text
        text = f"{name}({frame.distinct}{', '.join(texts)}{frame.rest})"
        if call in ("REGEX", "REPLACE"):
            text = self._matching(frame, texts)
        elif len(texts) == 1:
            text = self._of_one(call, frame, texts[0], text)
        return _Node(text, boolean or call == XSD + "boolean")

    def _matching(self, frame: _Frame, texts: list[str]) -> str:
        """REGEX and REPLACE with patterns as XPath has them."""
        call, arguments, last = frame.call, frame.arguments, 3 if frame.call == "REPLACE" else 2
        if not last <= len(texts) <= last + 1:
            raise _NoExpressionError
        flags = texts[last:]
        constants = [node.constant for node in arguments[1:] if node.constant is not None]
        if len(constants) == len(arguments) - 1:
            try:
                found = translated(constants[0], *constants[last - 1 :])
                given = [found.text, *([found.replacement(constants[1])] if call == "REPLACE" else [])]
                return f"{call}({', '.join([texts[0], *(str(ox.Literal(part)) for part in given)])})"
            except UnsupportedPatternError as error:
                raise error_at(str(error), self._text, self._tokens[frame.start].start) from None
            except PatternError:
                pass  # an error of each solution
        made = [_call("pattern", texts[1], *flags)]
        if call == "REPLACE":
            made.append(_call("replacement", texts[1], texts[2], *flags))
        return f"{call}({', '.join([texts[0], *made])})"

    def _of_one(self, call: str, frame: _Frame, argument: str, text: str) -> str:
        """A function or an aggregate of one argument; `text` is the call as it stands."""
        if call == "GROUP_CONCAT":
            texts = f"GROUP_CONCAT({frame.distinct}STR({argument}){frame.rest})"
            return f"COALESCE(STR({text}), {texts})" if frame.distinct else texts
        if call == "COUNT" and not re.fullmatch(rf"\*|{_VARIABLE}", argument):
            # pyoxigraph has an error where one solution has, so those with one are counted apart.
            if not frame.distinct:
                return f"SUM(COALESCE(IF(ISLITERAL({argument}), 1, 1), 0))"
            failed = f"COALESCE(MAX(COALESCE(IF(ISLITERAL({argument}), 0, 0), 1)), 0)"
            return f"(COUNT(DISTINCT COALESCE({argument}, <{OURS}failed>)) - {failed})"
        if call in ("SUM", "AVG"):
            if not self._wide:
                return f"COALESCE({text}, {_call('wider')})"
            return _call(call.lower() + ("-distinct" if frame.distinct else ""), argument)
        if call in ("MIN", "MAX") and self._wide:
            return _call("given", f"{call}({frame.distinct}{_call('held', argument)})")
        if call == "ISNUMERIC" and self._wide:
            return f"IF({text}, true, {_call('numeric', argument)})"
        if call in _WIDENED:
            return _first(text, _call("rounded", f'"{call}"', argument))
        cast = call.removeprefix(XSD)
        if call != cast and (cast in CASTS or cast == "boolean"):
            ours = _call("cast", f'"{cast}"', argument)
            if cast not in ("decimal", "double", "float"):
                return _first(text, ours)
            wrong = f"<{XSD}double>, <{XSD}float>" if cast == "decimal" else f"<{XSD}string>"  # for pyoxigraph's cast
            return _first(f"IF(DATATYPE({argument}) IN ({wrong}), 1/0, {text})", ours)
        return text


def rewritten(query: Query, *, wide: bool) -> str | None:
    """The text of a query that pyoxigraph answers right, with the functions of `Exactly`; None where it is the same.

    `wide`: whether numbers that pyoxigraph has no room for may come up. QueryError for what is not answered,
    UnreadError for what is no expression.
    """
    if not wide and not query.bindings and plain(query.text):
        return None
    try:
        edits = list(Rewriter(query, wide=wide).edits())
    except (_NoExpressionError, IndexError, ValueError):
        raise UnreadError("an expression of the query cannot be read") from None
    text = spliced(query.text, edits)
    return text if text != query.text else None
