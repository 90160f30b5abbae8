"""Python processes that are forked from one that has imported what they need: they start without importing it.

`Forked` stands for `subprocess.Popen` where how the interpreter starts is not what a test is about. What it runs is a
process of its own all the same, with its files, signals, environment and end.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]
SERVE = """
from tests.support import seams
from worlds.doors.cli import main
seams.fork_templates(seams.ForGood())
main()
"""
"""A program: the command line, whose servers fork the template of their workers."""
_MCP = ("worlds.doors.mcp.transport", "uvicorn")  # imported before the first command that needs them
_IMPORTED = (
    "Stemmer",
    "annotated_types",
    "numpy.ma",
    "platformdirs.unix",
    "pydantic.json_schema",
    "pydantic.type_adapter",
    "rdflib",
    "rich.console",
    "tests.support.embedder",
    "tests.support.oracle",
    "tests.support.readback",
    "tests.support.seams",
    "uvicorn.protocols.http.h11_impl",
    "worlds.core.file.stats",
    "worlds.core.search.engine",
    "worlds.core.sparql.queries",
    "worlds.doors.cli.ask",
    "worlds.doors.server.app",
    "worlds.doors.server.running",
    "worlds.doors.server.workers.template",
    "worlds.extras.conclusions.ruling",
    "worlds.extras.entities.disambiguation",
    "worlds.looks.entailment",
    "worlds.world",
)


class Forked(subprocess.Popen[Any]):
    """A process of `python [-W error] -m MODULE …` or `python -c CODE …`."""

    def _execute_child(self, args: Any, *given: Any) -> None:
        cwd, env, ends, session = given[4], given[5], given[9:15], given[20]
        asked = {
            "command": [os.fspath(arg) for arg in args[1:]],
            "cwd": os.fspath(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "session": bool(session),
        }
        self._ended, theirs = socket.socketpair()
        self._reaping = threading.Lock()
        with theirs:
            streams = [number if end == -1 else end for number, end in enumerate((ends[0], ends[3], ends[5]))]
            _template().ask(asked, [*streams, theirs.fileno()])
        self.pid = int.from_bytes(self._ended.recv(8), "little")
        self._child_created = True
        for end, ours in ((ends[0], ends[1]), (ends[3], ends[2]), (ends[5], ends[4])):
            if ours != -1:
                os.close(end)
        if (nothing := vars(self).pop("_devnull", None)) is not None:
            os.close(nothing)

    def _wait(self, timeout: float | None) -> int | None:
        with self._reaping:
            if self.returncode is None:
                if not select.select([self._ended], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                with self._ended:
                    code = self._ended.recv(8)
                self.returncode = int.from_bytes(code, "little", signed=True) if code else -signal.SIGKILL
        return self.returncode

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._wait(0)
        return self.returncode


def run(
    command: list[Any], *, input: Any = None, timeout: float | None = None, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run` that captures the output."""
    streams: Any = {"stdin": None if input is None else subprocess.PIPE, "stdout": subprocess.PIPE}
    streams |= {"stderr": subprocess.PIPE, **options}
    with Forked(command, **streams) as child:
        try:
            out, err = child.communicate(input, timeout)
        except BaseException:
            child.kill()
            raise
    if check and child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command, out, err)
    return subprocess.CompletedProcess(command, child.returncode, out, err)


# --- the process that is forked ---------------------------------------------------------------------------------------


class _Template:
    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._asking = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from tests.support.forking import main; main()"],
                stdin=theirs.fileno(),
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        atexit.register(self._end)

    def ask(self, asked: dict[str, Any], descriptors: list[int]) -> None:
        data = json.dumps(asked).encode()
        with self._asking:
            socket.send_fds(self._ours, [len(data).to_bytes(8, "little")], descriptors)
            self._ours.sendall(data)

    def _end(self) -> None:
        self._ours.close()
        self._process.wait()


@functools.cache
def _template() -> _Template:
    return _Template()


_codes: list[int] = []  # with which this process ends, if that is known


def _end() -> None:
    """End, after all else, without freeing all objects of the template, which would copy them first."""
    if _codes:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):  # which the interpreter tells of
            return
        os._exit(_codes[0])


def main() -> None:
    """Fork a process for each request on the standard input, a socket, until it ends."""
    atexit.register(_end)
    asking = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    import typer

    from worlds.doors.cli import app

    path = [entry for entry in sys.path if entry not in ("", str(ROOT))]
    for module in _IMPORTED:
        import_module(module)
    tree = typer.main.get_command(app)
    for command in tree.commands.values():  # type: ignore[attr-defined]  # which imports more
        list(getattr(command, "commands", {}).values())
    typer.main.get_command = lambda typer_instance: tree
    gc.collect()
    gc.freeze()
    woken, waking = socket.socketpair()
    woken.setblocking(False)
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    told: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([asking, woken], [], [])
        if woken in ready:
            woken.recv(1 << 12)
            with contextlib.suppress(ChildProcessError):
                while (found := os.waitpid(-1, os.WNOHANG))[0]:
                    with told.pop(found[0]) as listening, contextlib.suppress(OSError):
                        listening.sendall(os.waitstatus_to_exitcode(found[1]).to_bytes(8, "little", signed=True))
        if asking in ready:
            size, ends, _, _ = socket.recv_fds(asking, 8, 4)
            if not size:
                return
            asked = json.loads(asking.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL))
            if "mcp" in asked["command"]:
                for module in _MCP:
                    import_module(module)
            if pid := os.fork():
                for end in ends[:3]:
                    os.close(end)
                told[pid] = socket.socket(fileno=ends[3])
                told[pid].sendall(pid.to_bytes(8, "little"))
                continue
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, end in enumerate(ends[:3]):
                os.dup2(end, number)
            for other in (asking, woken, waking, *told.values()):
                other.close()
            for end in ends:
                os.close(end)
            try:
                _become(**asked, path=path)
            except SystemExit as ended:
                if not sys.warnoptions and isinstance(ended.code, int | None):
                    _codes.append(ended.code or 0)
                raise


def _become(command: list[str], cwd: str, environment: dict[str, str], session: bool, path: list[str]) -> NoReturn:
    if session:
        os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), *path]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # as the interpreter has it
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    while command[0] == "-W":
        sys.warnoptions.append(command[1])
        warnings.simplefilter(command[1])  # type: ignore[arg-type]  # "error"
        del command[:2]
    kind, program, *arguments = command
    if kind == "-m":
        sys.argv = [program, *arguments]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        assert kind == "-c", command
        sys.argv = ["-c", *arguments]
        sys.modules["__main__"] = begun = types.ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), vars(begun))
    sys.exit()
