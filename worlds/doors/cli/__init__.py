"""The command line: the verbs of `World`, for people and for programs.

What was asked for goes to standard output; progress, notes and errors go to standard error. `errors.EXIT_CODES` says
what the exit codes mean. The commands are in `worlds.doors.cli.commands`; importing this package loads none of them.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worlds.doors.cli.commands import app

__all__ = ["app", "main"]

_INTERRUPTED = 130  # errors.INTERRUPTED, which is not loaded yet


def main() -> None:
    """Run the command line of this process."""
    alone = threading.current_thread() is threading.main_thread()
    interruptible = alone and signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in the background
    if interruptible:  # an exception in the middle of an import would be shown with its traceback
        signal.signal(signal.SIGINT, _leave)
    for name in ("SIGTERM", "SIGHUP") if alone else ():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # else the command is to ignore it
            signal.signal(number, _terminate)
    gc.disable()  # what is imported stays; a command enables it
    from worlds.doors.cli.commands import app

    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        app(prog_name="worlds")
    except KeyboardInterrupt as error:  # before there was anything to interrupt
        sys.exit(getattr(error, "exit_code", _INTERRUPTED))
    finally:
        if interruptible:
            signal.signal(signal.SIGINT, _leave)


class Terminated(KeyboardInterrupt):
    """A signal that asks the process to end, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


def _terminate(number: int, _: object) -> None:
    """End as after Ctrl-C, so that no draft is left, or, at the second time, at once."""
    signal.signal(number, signal.SIG_DFL)
    raise Terminated(number)


def _leave(*_: object) -> None:
    os._exit(_INTERRUPTED)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "app":
            from worlds.doors.cli.commands import app

            return app
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
