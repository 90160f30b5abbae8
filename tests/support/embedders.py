"""Embedders that answer what they are told, and processes that find or download models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.embedder import HashingEmbedder

TEXTS = ["perovskite solar cells", "中文分词测试", "a", "solar cell of perovskite", "the cat sat"]


class Answering(HashingEmbedder):
    """Gives what it is told to give, whatever it is asked."""

    def __init__(self, answer: object, dimension: int = 3) -> None:
        super().__init__(dimension, name="odd")
        self.answer: Any = answer

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return self._give()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._give()

    def _give(self) -> NDArray[np.float32]:
        if isinstance(self.answer, BaseException):
            raise self.answer
        given: NDArray[np.float32] = self.answer
        return given


class Minimal:
    """No more than the protocol asks."""

    name = "minimal"
    dimension = 2
    max_tokens = 16

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.array([1, 0], np.float32)


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the code in a fresh interpreter where warnings are errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def printed(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def modules(*kinds: str) -> list[dict[str, str]]:
    return [
        {"type": f"sentence_transformers.models.{kind}", "path": f"{index}_{kind}" if index else ""}
        for index, kind in enumerate(kinds)
    ]


REPOSITORY = {
    "config.json": b'{"hidden_size": 12, "max_position_embeddings": 9}',
    "1_Pooling/config.json": b'{"embedding_dimension": 10}',
    "modules.json": json.dumps(modules("Transformer", "Pooling")).encode(),
    "model.safetensors": b"none",
    "pytorch_model.bin": b"the same in another form",
    "onnx/model.onnx": b"the same for another runtime",
    "README.md": b"words",
}


class Hub(BaseHTTPRequestHandler):
    """As much of the model hub as a download needs."""

    asked: list[str]
    repository: Mapping[str, bytes] = REPOSITORY

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        commit = "0123456789abcdef0123456789abcdef01234567"
        path = self.path.partition("?")[0]
        if path == f"/api/models/someone/model/tree/{commit}":
            tree = [{"type": "file", "path": n, "size": len(b), "oid": n} for n, b in self.repository.items()]
            body = json.dumps(tree).encode()
        elif path.startswith("/api/models/someone/model"):
            siblings = [{"rfilename": name} for name in self.repository]
            body = json.dumps({"id": "someone/model", "sha": commit, "siblings": siblings}).encode()
        else:
            name = path.partition("/resolve/")[2].partition("/")[2]
            if name not in self.repository:  # what a release of the client asks besides
                self.send_error(404)
                return
            self.asked.append(name)
            body = self.repository[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Repo-Commit", commit)
        self.send_header("ETag", f'"{path.replace("/", "-")}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(repository: Mapping[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    handler = type("OneHub", (Hub,), {"asked": asked, "repository": repository})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()
