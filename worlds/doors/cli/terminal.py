"""The two streams: data on standard output; notes, progress and errors on standard error."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worlds.errors import OpenError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

_ASCII = {"…": "...", "·": "-", "─": "-", "│": "|", "≥": ">=", "≤": "<=", "×": "x"}
_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
}
_UNSEEN = 0.3  # seconds: shorter work shows no progress bar


def prepare_streams() -> None:
    """Make sure that both output streams exist and never fail on a character that they cannot show."""
    codecs.register_error("worlds", _plain)
    logging.getLogger("worlds").addHandler(logging.NullHandler())  # what it says is said in notes
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  # for the life of the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="worlds")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ASCII.get(character, "?") for character in error.object[error.start : error.end]), error.end


def clean(text: str) -> str:
    """The text with control characters made visible, so that data cannot steer the terminal."""
    return text.translate(_CONTROLS)


def _console(stream: Any) -> Console:
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Quiet(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=not stream.isatty())


def output() -> Console:
    """The console for data."""
    return _console(sys.stdout)


def messages() -> Console:
    """The console for everything else."""
    return _console(sys.stderr)


def as_text(given: str) -> str:
    """A command-line argument as text: bytes that were not UTF-8 become U+FFFD."""
    return given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_text(file: str | Path) -> str:
    """The text of a file, or of standard input where it is -; OpenError."""
    if str(file) == "-":
        return read_stdin()
    try:
        return Path(file).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OpenError(f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from error


def print_text(text: str | Text = "", style: str = "") -> None:
    """Print a text for people on standard output, its lines whole, the control characters of a str visible."""
    from rich.text import Text

    output().print(Text(clean(text), style=style) if isinstance(text, str) else text, soft_wrap=True)


def announce_terminal() -> None:
    """Report that the command waits for standard input, where that is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        note("reading from the terminal; Ctrl-D ends it")


def read_stdin() -> str:
    """The text on standard input."""
    if sys.stdin is None:
        raise OpenError("there is no standard input")
    announce_terminal()
    return sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def say(kind: str, message: str, *, style: str = "bold") -> None:
    """One line on standard error: `note: …`."""
    from rich.text import Text

    line = " ".join(clean(message).split())
    with contextlib.suppress(OSError):  # nobody reads it
        messages().print(Text.assemble((f"{kind}: " if line else kind, style), line), soft_wrap=True)


def note(message: str) -> None:
    """Something that the user should know, on standard error."""
    say("note", message, style="yellow")


def counted(number: int, thing: str) -> str:
    """The number and the thing, in the plural where it is one: `1 quad`, `2,000 quads`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def json_text(document: object) -> str:
    """A document as JSON, in UTF-8."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def write_json(document: object) -> None:
    """Print one JSON document; in ASCII where standard output is not UTF-8."""
    unicode = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
    text = json.dumps(document, ensure_ascii=not unicode, indent=2)
    if unicode:
        text = text.encode("utf-8", "replace").decode()  # a lone surrogate, from the command line
    sys.stdout.write(text + "\n")


def write_utf8(text: str) -> None:
    """Print a document whose format says that it is UTF-8, whatever the terminal is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    if text and not text.endswith("\n"):
        sys.stdout.buffer.write(b"\n")


def write_document(text: str, target: Path | None) -> None:
    """Write a document to a file, or print it."""
    if target is None:
        write_utf8(text)
    else:
        target.write_text(text, encoding="utf-8")


class Bar:
    """Shows how far long work has come; the `progress` of a world's methods.

    It appears on a terminal only, and only after a moment: short work shows nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bar: Progress | None = None
        self._task: Any = None
        self._step: tuple[str, int, int | None] = ("opening", 0, None)
        self._began = (0, time.monotonic())  # how much was done when this step began, and when
        self._begun = time.monotonic()
        self._quads = 0  # read by now
        self._closed = False
        self._timer = threading.Timer(_UNSEEN, self._show)
        self._timer.daemon = True
        if sys.stderr.isatty():
            self._timer.start()

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """Update the bar by the progress of the work."""
        with self._lock:
            if step == "quads":
                self._quads = done
                return
            if step != self._step[0]:
                self._began = (done, time.monotonic())
                if self._bar is not None:
                    self._bar.reset(self._task)  # what the step before had finished is no part of this one
            self._step = (step, done, total)
            self._update()

    def _show(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._bar = _progress()
            self._task = self._bar.add_task("", amount="")
            self._update()
            self._bar.start()

    def _update(self) -> None:
        if self._bar is not None:
            step, done, total = self._step
            unit, scale = ("MB", 1_000_000) if step.startswith("read") else (_UNITS.get(step, ""), 1)
            before, since = self._began
            told = f"{done / scale:,.{scale > 1:d}f}" + (
                "" if total is None else f" / {total / scale:,.{scale > 1:d}f}"
            )
            told = f"{told} {unit}" if unit else ""
            if scale > 1 and self._quads:
                unit, scale, done, before, since = "quads", 1, self._quads, 0, self._begun
            seconds = time.monotonic() - since
            if unit and done > before and seconds >= 1:
                told += f" ({(done - before) / scale / seconds:,.{scale > 1:d}f} {unit}/s)"
            self._bar.update(self._task, description=clean(step), completed=self._step[1], amount=told)
            self._bar.tasks[0].total = total  # None too, which `update` takes for no change

    def close(self) -> None:
        """Remove the bar."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()


_UNITS = {"quads": "quads", "write": "quads", "index": "quads", "embed": "chunks", "vector index": "vectors"}


def _progress() -> Progress:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        SpinnerColumn("line"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=messages(),
        transient=True,
    )


@contextlib.contextmanager
def progress() -> Iterator[Bar]:
    """A progress bar for the block's work, on a terminal only."""
    bar = Bar()
    try:
        yield bar
    finally:
        bar.close()


@contextlib.contextmanager
def waiting(message: str) -> Iterator[None]:
    """A spinner with a message while the block runs, on a terminal only."""
    if not (message and sys.stderr.isatty()):
        yield
        return
    with messages().status(message, spinner="line"):
        yield
