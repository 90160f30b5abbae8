"""The headers of a file, which threads open and let go at the same time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from worlds.sql.identity import FileHeader

OPEN = Path("/proc/self/fd")


@pytest.mark.skipif(not OPEN.is_dir(), reason="descriptors are listed by /proc")
def test_a_header_is_readable_whatever_other_threads_let_go(tmp_path: Path) -> None:
    file = tmp_path / "kb.db"
    file.write_bytes(b"SQLite format 3\0" + bytes(44) + (7).to_bytes(4, "big") + bytes(100))
    before, read = len([*OPEN.iterdir()]), list[int | None]()

    def look() -> None:
        for _ in range(2000):
            read.append(FileHeader(str(file)).stamp())

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [7] * 8000
    assert len([*OPEN.iterdir()]) <= before
