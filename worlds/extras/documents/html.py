"""Turns HTML into readable text: Markdown, so that headings, lists, tables and code keep their form."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from worlds.errors import ParseError, WorldsError

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "legend", "li", "main",
    "menu", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
}  # fmt: skip
_LEFT_OUT = frozenset({
    "-comment", "audio", "button", "canvas", "datalist", "embed", "frameset", "head", "iframe", "input", "math", "nav",
    "noscript", "object", "script", "select", "style", "svg", "template", "textarea", "video",
})  # fmt: skip
_LEFT_OUT_ROLES = frozenset({"navigation", "search", "menu", "menubar", "toolbar", "tablist"})
_OUTSIDE = frozenset({"footer", "aside"})  # left out where the page does not say which part is the main one
_IN_LAYOUT = ", ".join(f"table {tag}" for tag in ("table", "ul", "ol", "pre", "blockquote", *_HEADINGS))
_DEEPEST = 20  # lists and quotes that are shown as such
_MOST_COLUMNS = 1000

_begins_block = re.compile(r"(?:#{1,6}|[-+*])(?=\s|$)|[-=]{2,}\s*$|```|~~~|>|(\d{1,9})(?=[.)](?:\s|$))").match
_charset = re.compile(rb"""<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w:.+-]+)""", re.IGNORECASE).search
_declared = re.compile(rb"""\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w:.+-]+)""").match
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Browsers read these labels as the encoding that holds more (https://encoding.spec.whatwg.org/#names-and-labels).
_WIDER = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("utf-16", "utf-16-le", "utf-16-be"), "utf-8"),  # a label that can be read as ASCII is wrong
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}


def decode_html(data: bytes) -> str:
    """The text of an HTML file: decoded by its byte order mark, its declared encoding, UTF-8 or windows-1252."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    found = _charset(data[:4096]) or _declared(data[:4096])
    if found:
        try:
            name = codecs.lookup(found[1].decode()).name
            return data.decode(_WIDER.get(name, name), "replace")
        except (LookupError, UnicodeError):  # no encoding, or none of texts
            pass
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


class HtmlPage:
    """An HTML page. WorldsError where selectolax is not installed; no text is so broken that it raises."""

    def __init__(self, html: str) -> None:
        self._tree = _parsed(html)

    def title(self) -> str | None:
        """The text of <title>."""
        node = self._tree.css_first("title")
        return _joined(node.text()) or None if node else None

    def attribute(self, selector: str, name: str) -> str | None:
        """An attribute of the first element that has it and matches the CSS selector."""
        for node in self._tree.css(selector):
            value = _joined(node.attributes.get(name) or "")
            if value:
                return value
        return None

    def markdown(self) -> str:
        """The readable text: of <main> or of the only <article> if there is one, else of the body.

        Scripts, styles, navigation, forms' fields and what is hidden are left out, and outside the main part also
        footers and asides. Links become their text, pictures their alternative text.
        """
        for selector in ("main, [role=main]", "article"):
            found = self._tree.css(selector)
            if len(found) == 1:
                text = _Writer(_LEFT_OUT).write(found[0])
                if text:
                    return text
        return "" if self._tree.body is None else _Writer(_LEFT_OUT | _OUTSIDE).write(self._tree.body)


def _parsed(html: str) -> LexborHTMLParser:
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise WorldsError("reading HTML needs selectolax: pip install 'worlds-kg[html]'") from error
    _refuse_open_tags(html)
    return LexborHTMLParser(html.encode("utf-8", "replace").decode())  # no lone surrogates


def _refuse_open_tags(html: str) -> None:
    """ParseError where so many tags are never closed that the parser, whose time is quadratic there, takes long."""
    opened, closed = (Counter(map(str.lower, tags(html))) for tags in (_OPENING_TAGS, _CLOSING_TAGS))
    unclosed = sum(count for name, count in (opened - closed).items() if not _CLOSED_BY_OTHERS(name))
    if unclosed > _MOST_UNCLOSED:
        raise ParseError(f"HTML with more than {_MOST_UNCLOSED:,} tags that are not closed")


_OPENING_TAGS = re.compile(r"<([A-Za-z][^\s/>]*+)").findall
_CLOSING_TAGS = re.compile(r"</([A-Za-z][^\s/>]*+)").findall
_CLOSED_BY_OTHERS = re.compile(  # or by nothing
    "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|"
    "body|colgroup|dd|dt|head|html|li|optgroup|option|p|rp|rt|tbody|td|tfoot|th|thead|tr"
).fullmatch
_MOST_UNCLOSED = 5000


def _joined(text: str) -> str:
    return " ".join(text.split())


class _Writer:
    """Writes the text of one element as Markdown."""

    def __init__(self, left_out: frozenset[str], *, escape: bool = True) -> None:
        self._left_out = left_out
        self._escape = escape
        self._inline: list[str] = []
        self._written: list[str] = []
        self._inside: list[list[str]] = []  # of each list item and quote: what its first line begins with, and the next
        self._lists: list[int | None] = []  # of each open list the last number, None without numbers
        self._first = False  # whether a list began since the last list item
        self._tight = False  # whether the next block follows without a blank line

    def write(self, root: Any) -> str:
        """The text of an element."""
        todo = [(root, True)]  # not recursive: pages nest as deep as they like
        while todo:
            node, entering = todo.pop()
            if not entering:
                self._leave(node)
            elif self._enter(node):
                todo.append((node, False))
                child = node.last_child
                while child is not None:
                    todo.append((child, True))
                    child = child.prev
        self._flush()
        return "".join(self._written)

    def _enter(self, node: Any) -> bool:
        """Take an element or a text in; gives whether its children are to follow."""
        tag = node.tag
        if tag == "-text":
            self._inline.append(node.text_content or "")
            return False
        if self._is_left_out(node):
            return False
        if tag == "q":
            self._inline.append('"')
        elif tag == "br":
            self._inline.append("\n\0")  # a line end that stays
        elif tag == "img":
            self._inline.append(f" {node.attributes.get('alt') or ''} ")
        elif tag == "pre":
            self._flush()
            self._code(node.text())
            return False
        elif tag == "table" and self._table(node):
            return False
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._flush()
            self._open(node)
        elif tag in ("code", "kbd", "samp"):
            text = _joined(node.text())
            self._inline.append(f"`{text}`" if text and "`" not in text else text)
            return False
        return True

    def _open(self, node: Any) -> None:
        tag = node.tag
        if tag in ("ul", "ol", "menu"):
            start = node.attributes.get("start") or "1"
            self._first = True
            self._lists.append((int(start) if start.isdecimal() and len(start) < 9 else 1) - 1 if tag == "ol" else None)
        elif tag == "li":
            marker = "- "
            if self._lists and (number := self._lists[-1]) is not None:
                self._lists[-1] = number + 1
                marker = f"{number + 1}. "
            self._inside.append([marker, " " * len(marker)])
            self._tight = not self._first or len(self._lists) > 1
            self._first = False
        elif tag == "blockquote":
            self._inside.append(["> ", "> "])

    def _leave(self, node: Any) -> None:
        tag = node.tag
        if tag in _HEADINGS:
            self._flush("#" * _HEADINGS[tag] + " ")
        elif tag in _BLOCKS:
            self._flush()
            if tag in ("li", "blockquote"):
                self._inside.pop()
                self._tight = False
            elif tag in ("ul", "ol", "menu"):
                self._lists.pop()
        elif tag == "q":
            self._inline.append('"')

    def _is_left_out(self, node: Any) -> bool:
        if node.tag in self._left_out:
            return True
        attributes = node.attributes
        return bool(attributes) and (
            "hidden" in attributes
            or attributes.get("aria-hidden") == "true"
            or (attributes.get("role") or "").lower() in _LEFT_OUT_ROLES
        )

    def _flush(self, heading: str = "") -> None:
        """Write the collected text as a paragraph or a heading."""
        lines = [_joined(line) for line in "".join(self._inline).split("\n\0")]
        self._inline.clear()
        if heading and any(lines):
            lines = [heading + " ".join(filter(None, lines))]
        elif self._escape:
            lines = [_escaped(line) for line in lines]
        lines = [line for line in lines if line]
        self._block([f"{line}  " for line in lines[:-1]] + lines[-1:])  # two blanks make a line end hard

    def _block(self, lines: list[str]) -> None:
        if not lines:
            return
        inside = self._inside[:_DEEPEST]
        if self._written:
            self._written.append("\n" if self._tight else "\n\n")
        first = "".join(part[0] for part in inside)
        for part in inside:
            part[0] = part[1]
        rest = "".join(part[1] for part in inside)
        self._written.append(f"\n{rest}".join([first + lines[0], *lines[1:]]))
        self._tight = False

    def _code(self, text: str) -> None:
        lines = text.strip("\n").rstrip().split("\n")
        if not any(lines):
            return
        longest = max((len(run) for run in re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        self._block([fence, *lines, fence])

    def _table(self, node: Any) -> bool:
        """Write a table of data; gives False for one that only arranges other blocks."""
        if node.css_first(_IN_LAYOUT) is not None:
            return False
        rows = [
            [self._cell(cell) for cell in row.iter() if cell.tag in ("td", "th")]
            for row in node.css("tr")
            if not self._is_left_out(row)
        ]
        rows = [row[:_MOST_COLUMNS] for row in rows if any(row)]
        width = max(map(len, rows), default=0)
        if width < 2:
            return False
        self._flush()
        for caption in node.css("caption"):
            self._inline.append(caption.text())
            self._flush()
        lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
        self._block([lines[0], f"|{' - |' * width}", *lines[1:]])
        return True

    def _cell(self, node: Any) -> str:
        return _joined(_Writer(self._left_out, escape=False).write(node)).replace("|", r"\|")


def _escaped(line: str) -> str:
    """The line, so that Markdown takes it for nothing but text."""
    found = _begins_block(line)
    if found is None:
        return line
    at = found.end() if found[1] else 0  # after the number of an item
    return f"{line[:at]}\\{line[at:]}"
