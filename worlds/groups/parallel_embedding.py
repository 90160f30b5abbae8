"""Many workers, of this machine or of Ray, and the embedding of one world by them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders import Embedder, count_tokens, fingerprint, reason_without, resolve_embedder
from worlds.errors import EmbedderError, WorldsError

_HOST = re.compile(r"(?:ray://)?([^/:]+):([0-9]+)")
_CONNECT = 5.0  # seconds

T = TypeVar("T")
_TEXTS = 128  # that a worker is given at a time, at least


@contextlib.contextmanager
def working(workers: int, ray: str | None = None) -> Iterator[Executor]:
    """An executor for functions of modules: `workers` processes, which share this machine's cores, or Ray's.

    `ray` is the address of a cluster, or "local" for one that is started here and ended after. Its machines have this
    package and see the same files. Where the block is left by an error, what runs is ended. WorldsError without Ray,
    and for a cluster that is not there.
    """
    if ray is not None:
        with _cluster(workers, ray) as found:
            yield found
        return
    before = set(multiprocessing.active_children())
    threads = max(1, (os.cpu_count() or 1) // workers)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(threads,)) as pool:
        try:
            yield pool
        except BaseException:
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()
            pool.shutdown(cancel_futures=True)  # which waits: else the interpreter's end may meet its closed pipe
            raise


def _begin(threads: int) -> None:
    """Begin a process: it ends with the one that started it, and at once when that is interrupted."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="worlds-parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _cluster(workers: int, address: str) -> Iterator[Executor]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise WorldsError("Ray is not installed: pip install 'worlds-kg[cluster]'") from error
    options: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if address == "local" else {}
    try:
        if match := _HOST.fullmatch(address):  # Ray itself tries for minutes
            socket.create_connection((match[1], int(match[2])), _CONNECT).close()
        ray.init(address, log_to_driver=False, logging_level="ERROR", **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise WorldsError(f"the Ray cluster {address} cannot be reached: {error}") from error
    try:
        yield _Ray(ray)
    finally:
        ray.shutdown()


class _Ray(Executor):
    """Ray's tasks as futures. Where its machines have GPUs, each task has one."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._options = {"num_gpus": 1} if ray.cluster_resources().get("GPU") else {"num_cpus": 1}

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Begin a task; it is tried again where the machine that has it dies."""
        found: Future[T] = self._ray.remote(**self._options)(fn).remote(*args, **kwargs).future()
        return found


@contextlib.contextmanager
def parallel_embedder(
    embedder: str | os.PathLike[str] | Embedder | None = "auto", *, workers: int = 2, ray: str | None = None
) -> Iterator[Embedder]:
    """An embedder that has texts embedded by `workers` processes, or by Ray: for a world's `embed`, while it is open.

    Each loads the model, so give a name, or an object that can be pickled. `ray` is the address of a cluster, or
    "local". EmbedderError as of `worlds.open`.
    """
    own = resolve_embedder(embedder)
    if own is None:
        raise EmbedderError(reason_without() or "several workers can embed nothing without an embedder")
    with working(workers, ray) as pool:
        yield _Parallel(own, pickle.dumps(embedder), workers, pool)


class _Parallel:
    """An `Embedder`."""

    def __init__(self, own: Embedder, pickled: bytes, workers: int, pool: Executor) -> None:
        self._own = own
        self._pickled = pickled
        self._workers = workers
        self._pool = pool
        self.name = own.name
        self.dimension = own.dimension
        self.max_tokens = own.max_tokens
        self.fingerprint = fingerprint(own)
        self.batch = workers * _TEXTS

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, uncut."""
        return count_tokens(self._own, text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension]."""
        return self._own.embed_query(text)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension]."""
        # Every so many-th text, since those of one length stand together.
        parts = [texts[start :: self._workers] for start in range(min(self._workers, len(texts)))]
        rows = np.empty((len(texts), self.dimension), np.float32)
        running = [self._pool.submit(_embed, self._pickled, part) for part in parts]
        for start, future in enumerate(running):
            rows[start :: self._workers] = future.result()
        return rows


def _embed(pickled: bytes, texts: list[str]) -> NDArray[np.float32]:
    return np.asarray(_loaded(pickled).embed_documents(texts), np.float32)


@lru_cache(maxsize=1)
def _loaded(pickled: bytes) -> Embedder:
    found = resolve_embedder(pickle.loads(pickled))
    assert found is not None
    return found
