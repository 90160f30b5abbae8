"""Where a hit stands: its place leads to its words in the file that a person opens; and what files may not do."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from pypdf import PdfReader

import worlds
from tests.support.packed import archive, docx, epub, pdf
from worlds import World
from worlds.records import Hit, Solutions

WORDS = "kite robin plover heron wren martin siskin dunlin knot avocet crane stork ibis".split()  # noqa: SIM905


def sentences(draw: random.Random, count: int) -> list[str]:
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 14))).capitalize() + "." for _ in range(count)]


def made(folder: Path, draw: random.Random) -> None:
    """Some documents of every kind, with what makes places hard: front matter, line ends, marks, empty pages."""
    for number in range(3):
        texts = sentences(draw, 30)
        paragraphs = ["\n".join(texts[at : at + 3]) for at in range(0, 30, 3)]
        body = "\n\n".join(f"## Part {n}\n\n{one}" for n, one in enumerate(paragraphs))
        markdown = f"---\ntitle: Note {number}\ntags: [x]\n---\n\n\n# Äpfel\n\n{body}\n"
        end = "\r\n" if number % 2 else "\n"
        (folder / f"{number}.md").write_text(markdown, newline=end)
        (folder / f"{number}.txt").write_text("\ufeff" + "\n\n".join(paragraphs), newline=end)
        html = "".join(f"<h2>Part {n}</h2><p>{one} <b>{one[:4]}</b></p>" for n, one in enumerate(paragraphs))
        (folder / f"{number}.html").write_text(f"<html><body><h1>Top</h1>{html}</body></html>")
        (folder / f"{number}.docx").write_bytes(docx([("Title", "A paper"), *(("", one) for one in texts), ("", "")]))
        items = [(f"c{n}.xhtml", f"<h1>Chapter {n}</h1><p>{one}</p>") for n, one in enumerate(paragraphs)]
        (folder / f"{number}.epub").write_bytes(epub(items))
        (folder / f"{number}.pdf").write_bytes(pdf([texts[:8], [], texts[8:20], texts[20:]]))


def plain(text: str) -> str:
    return " ".join(re.sub(r"[#*\\>|-]+", " ", text).split())


def stands(hit: Hit, file: Path) -> bool:
    """Whether the place of a hit has its words, for a person with the file alone."""
    place = hit.place
    assert place is not None
    if file.suffix in (".md", ".txt"):
        text = file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        return bool(text[place["start"] : place["end"]] == hit.text)
    if file.suffix == ".pdf":
        page = PdfReader(file).pages[place["page"] - 1].extract_text().strip()
        return bool(page[place["offset"] :].startswith(hit.text.split("\n")[0]))
    if file.suffix == ".docx":
        root = ET.fromstring(zipfile.ZipFile(file).read("word/document.xml"))
        paragraphs = [one for one in root.iter() if one.tag.endswith("}p")]
        text = "".join(paragraphs[place["paragraph"] - 1].itertext())
        return plain(hit.text).startswith(plain(text)) or plain(text).endswith(plain(hit.text.split("\n")[0]))
    data = file.read_text() if file.suffix == ".html" else zipfile.ZipFile(file).read(place["item"]).decode()
    # Below the last heading that the place names, the words stand.
    heading = place["headings"][-1] if place["headings"] else ""
    below = data[data.index(f">{heading}<") :] if heading else data
    return str(place["words"]) in " ".join(re.sub(r"<[^>]+>", " ", below).split())


def test_every_place_leads_to_the_words(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    draw = random.Random(3)
    folder = tmp_path / "all"
    folder.mkdir()
    made(folder, draw)
    wanted = 1000 if pytestconfig.getoption("--long") else 120
    with worlds.open(":memory:", embedder=None) as world:
        world.policy = world.policy.changed({"size": {"max_chars": 200, "overlap": 40}}, {})
        world.sources.add(str(folder), kind="documents")
        (run,) = world.sources.sync()
        assert run.errors == ()
        assert len(run.new) == 18
        kinds: dict[str, int] = {}
        while sum(kinds.values()) < wanted:
            for hit in world.search(" ".join(draw.sample(WORDS, 2)), mode="text", limit=40, group_by="none"):
                if "text" not in str(hit.predicate):
                    assert hit.place is None  # a title may stand anywhere
                    continue
                assert hit.result_type == "document"
                assert hit.uri
                file = folder / hit.uri
                assert stands(hit, file), (file.name, hit.place, hit.text)
                kinds[file.suffix] = kinds.get(file.suffix, 0) + 1
        assert set(kinds) == {".md", ".txt", ".html", ".docx", ".epub", ".pdf"}
        told = world.search("kite", limit=1).to_dict()["hits"][0]
        assert json.loads(json.dumps(told))["source"] == "all"


def read(tmp_path: Path, name: str, data: bytes) -> tuple[World, str]:
    """A world that follows a folder with a good document and one that is given, and its error."""
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    (folder / "good.md").write_text("# Good")
    (folder / name).write_bytes(data)
    world = worlds.open(":memory:", embedder=None)
    world.sources.add(str(folder), kind="documents")
    (run,) = world.sources.sync()
    assert "good.md" in run.new
    return world, run.errors[0].message if run.errors else ""


BOMB = io.BytesIO()
with zipfile.ZipFile(BOMB, "w", zipfile.ZIP_DEFLATED) as _bomb:
    _bomb.writestr("word/document.xml", b" " * (1 << 27))
LAUGHS = '<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;&b;">]>'


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.docx", BOMB.getvalue(), "unpacks to more than it may"),
        ("a.docx", archive({"word/document.xml": f"{LAUGHS}<a>&c;</a>"}), "declares entities"),
        ("a.docx", archive({"other.xml": "<a/>"}), "word/document.xml cannot be read"),
        ("a.docx", b"not an archive", "not an archive"),
        ("a.docx", archive({"word/document.xml": "<a"}), "not XML"),
        ("a.docx", docx([("", "a text of words")])[:-60], "not an archive"),
        ("a.epub", archive({"META-INF/container.xml": "<a/>"}), "cannot be read"),
        ("a.epub", archive({"META-INF/container.xml": f"{LAUGHS}<a/>"}), "declares entities"),
        ("a.pdf", b"%PDF-1.4 nothing", "the PDF cannot be read"),
        ("a.pdf", b"", "the PDF cannot be read"),
        ("a.html", b"<div>" * 200_000, ""),
    ],
)
def test_what_a_file_may_not_do_is_told_and_the_rest_goes_in(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    world, error = read(tmp_path, name, data)
    with world:
        assert message in error
        assert bool(error) == bool(message) or name == "a.html"
        assert world.check().ok


def test_a_pdf_that_grows_in_memory_ends_with_its_process(tmp_path: Path) -> None:
    import zlib

    stream = zlib.compress(zlib.compress(b"\0" * (1 << 28)))
    bomb = b"".join(
        [
            b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n",
            b"2 0 obj\n<< /Type /Pages /Kids [4 0 R] /Count 1 >>\nendobj\n3 0 obj\n",
            f"<< /Length {len(stream)} /Filter [/FlateDecode /FlateDecode] >>\nstream\n".encode(),
            stream,
            b"\nendstream\nendobj\n4 0 obj\n<< /Type /Page /Parent 2 0 R /Contents 3 0 R >>\nendobj\n",
            b"trailer\n<< /Root 1 0 R >>\n",
        ]
    )
    world, error = read(tmp_path, "bomb.pdf", bomb)
    with world:
        assert "PDF" in error or not error
        assert world.check().ok


def test_names_in_every_script_are_iris(tmp_path: Path) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    for name in ("ä ö.md", "日本.md", "a#b?c%20.md", "שלום.txt", "[x] {y}.md", "'\"\\.md"):
        (folder / name).write_text(f"# {name}\n\n[next](日本.md)\n")
    with worlds.open(":memory:", embedder=None) as world:
        world.sources.add(str(folder))
        (run,) = world.sources.sync()
        assert (len(run.new), run.errors) == (6, ())
        assert world.sources.sync()[0].revision is None
        hit = world.search("שלום", mode="text")[0]
        assert hit.uri == "%D7%A9%D7%9C%D7%95%D7%9D.txt"
        assert "日本.md" in str(run.new)
        linked = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?d <http://purl.org/dc/terms/references> ?t . ?t a ?type } }"
        found = world.query(linked)
        assert isinstance(found, Solutions)
        assert str(found[0][0]) == "5"
