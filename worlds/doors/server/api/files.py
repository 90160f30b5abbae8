"""The jobs that bring in a file: RDF, or a table by its mapping; first its effect, then the load."""

from __future__ import annotations

import base64
import binascii
import contextlib
import io
import operator
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from worlds.doors.server.api.jobs import Rehearsal, TakenBackError, encoded, first_quads
from worlds.doors.server.problem_documents import HttpProblem
from worlds.doors.server.workers.jobs import job
from worlds.errors import ArgumentError, ConflictError, WorldsError
from worlds.extras.shapes.report import ValidationReport
from worlds.extras.sources.tables.quads import first_rows
from worlds.extras.sources.tables.rows import is_table
from worlds.graph.formats import EXTENSIONS
from worlds.world import World

MOST_FILE = 24 * 2**20
"""The bytes of a JSON body with a file, which is base64 there."""
_UNPACKED = 2**26  # bytes
_ROWS = 5  # of a table, that are shown as they would be
_VALIDATED = 10_000  # subjects
_key = operator.attrgetter("focus", "path", "value", "component")  # of a violation


@contextlib.contextmanager
def _opened(name: str, content: str) -> Iterator[Path | bytes]:
    """A table as a file, RDF as bytes; errors name the file as the client does. Problem for what is neither."""
    name = Path(name.replace("\\", "/")).name.encode("utf-8", "replace")[-200:].decode("utf-8", "ignore") or "file"
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise HttpProblem(f"the content of {name} is not base64") from error
    ending = name.rpartition(".")[2].lower()
    if not is_table(name) and ending not in EXTENSIONS:
        known = ", ".join(f".{one}" for one in (*EXTENSIONS, "csv", "tsv", "jsonl", "xlsx"))
        raise HttpProblem(f"{name} is neither RDF nor a table by its name: the ending is one of {known}")
    if ending == "xlsx" and (size := _unpacked(data)) > _UNPACKED:
        raise HttpProblem(f"{name} unpacks to {size:,} bytes; at most {_UNPACKED:,} are allowed")
    with tempfile.TemporaryDirectory(prefix="worlds-") as folder:
        path = Path(folder, name)
        if is_table(name):
            path.write_bytes(data)
        try:
            yield path if is_table(name) else data
        except (WorldsError, ValueError) as error:
            error.args = (str(error).replace(f"{folder}/", "").removeprefix("<bytes>, "),)
            raise


def _unpacked(data: bytes) -> int:
    """The unpacked size of a ZIP file in bytes; 0 for other data, which the reader of the table refuses."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return sum(one.file_size for one in packed.infolist())
    except zipfile.BadZipFile:
        return 0


def _loading(
    world: World, name: str, given: Path | bytes, mapping: Mapping[str, Any] | None, base: str | None, **options: Any
) -> dict[str, Any]:
    """The arguments of `World.load` for a file; of a table with its mapping, one that is proposed if none is given."""
    options = {"mode": "merge", **options, "embed": False}
    if isinstance(given, bytes):
        ending = name.rpartition(".")[2].lower()
        return {**options, "source": given, "format": EXTENSIONS[ending], "base": base, "max_unpacked": _UNPACKED}
    return {**options, "source": given, "mapping": mapping or world.sources.mappings(given, base=base)[0]}


@job("try_file", write=True, unlimited=False)
def try_file(
    world: World,
    *,
    author: str | None,
    name: str,
    content: str,
    mapping: Mapping[str, Any] | None = None,
    base: str | None = None,
    difference: bool = True,
    limit: int = 1000,
    **options: Any,
) -> bytes:
    """Try a load: the mapping of a table and its first rows, the difference, and the violations it would bring."""
    with _opened(name, content) as given:
        loading = _loading(world, name, given, mapping, base, **options)
        told: dict[str, Any] = {"mapping": loading.get("mapping"), "titles": [], "rows": []}
        if isinstance(given, Path):
            told |= _first_rows(world, given, loading["mapping"])
        if not difference:
            return encoded({**told, "difference": None, "violations": None})
        found = world.load(**loading, dry_run=True)
        subjects = {quad.subject for quad in found.added.terms()} if world.shapes else set()
        report = _violations(world, loading, list(subjects)[:_VALIDATED]) if subjects else None
        shown = Rehearsal(**first_quads(found, limit), notes=found.notes)
    return encoded({**told, "difference": shown.to_dict(), "violations": None if report is None else report.to_dict()})


def _first_rows(world: World, path: Path, mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The titles of a table, and its first rows as they would be."""

    def meant(name: str, among: Any) -> str | None:
        best = world.resolve(name, types=among.types, where=among.where).best
        return None if best is None else str(best.iri)

    titles, rows = first_rows(path, mapping, world.prefixes, meant, _ROWS)
    keys = ("cells", "iri", "values", "problem")
    return {"titles": titles, "rows": [dict(zip(keys, row, strict=True)) for row in rows]}


def _violations(world: World, loading: Mapping[str, Any], subjects: Sequence[Any]) -> ValidationReport:
    """The violations of subjects that a load would bring."""
    known = set(map(_key, world.shapes.validate(subjects=subjects)))
    with contextlib.suppress(TakenBackError), world.transaction(guard="off"):
        world.load(**loading)
        report = world.shapes.validate(subjects=subjects)
        raise TakenBackError
    fresh = [one for one in report if _key(one) not in known]
    return ValidationReport(fresh, (), world.prefixes, report.left_out)


@job("load_file", write=True, unlimited=False)
def load_file(
    world: World,
    *,
    author: str | None,
    name: str,
    content: str,
    mapping: Mapping[str, Any] | None = None,
    base: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """`World.load` of a file."""
    with _opened(name, content) as given:
        change = world.load(**_loading(world, name, given, mapping, base, **options), author=author)
        return cast("dict[str, Any]", change.to_dict())


@job("begin", write=True)
def begin(world: World, *, author: str | None, namespace: str, prefix: str | None = None) -> dict[str, Any]:
    """Set the namespace of new IRIs if the world has none, and give it a prefix; return the prefixes."""
    held = world.policy.iris.get("namespace")
    if held and held != namespace:
        raise ConflictError(f"new IRIs begin with {held} already: `worlds policy FILE iris={namespace}` changes it")
    if not namespace.endswith(("/", "#")):
        raise ArgumentError(f"{namespace!r} ends with neither / nor #: names follow it directly")
    if prefix:
        world.bind(prefix, namespace)
    if not held:
        world.policy = world.policy.changed({"iris": {"namespace": namespace}}, world.prefixes)
    return world.prefixes
