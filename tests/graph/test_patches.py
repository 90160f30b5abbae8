"""RDF Patch: what is written is read again, what is not one is refused where it stands, and what applying one does."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds import ConflictError, OpenError, ParseError, World
from worlds.graph.patches import PatchRow, read_patch, write_patch

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"


def rows(text: str | bytes) -> list[PatchRow]:
    return list(read_patch(io.BytesIO(text.encode() if isinstance(text, str) else text), "p"))


def quad(text: str) -> ox.Quad:
    found: ox.Quad = next(ox.parse(text, ox.RdfFormat.N_QUADS))
    return found


# --- round trips ------------------------------------------------------------------------------------------------------

iris = st.sampled_from("abc").map(lambda name: ox.NamedNode(EX + name))
nodes = st.one_of(iris, st.sampled_from(["b", "w17", "x.y", "0"]).map(ox.BlankNode))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
literals = st.one_of(
    texts.map(ox.Literal),
    st.builds(lambda text, tag: ox.Literal(text, language=tag), texts, st.sampled_from(["en", "de-ch"])),
    st.builds(
        lambda text, way: ox.Literal(text, language="ar", direction=way),
        texts,
        st.sampled_from([ox.BaseDirection.LTR, ox.BaseDirection.RTL]),
    ),
    st.builds(lambda text: ox.Literal(text, datatype=ox.NamedNode(XSD + "integer")), st.sampled_from(["1", "01", "x"])),
)
objects = st.recursive(st.one_of(nodes, literals), lambda inner: st.builds(ox.Triple, nodes, iris, inner), max_leaves=3)
quads = st.builds(ox.Quad, nodes, iris, objects, st.one_of(nodes, st.just(ox.DefaultGraph())))


@given(
    st.lists(quads),
    st.lists(quads),
    st.dictionaries(st.sampled_from(["id", "prev", "note"]), st.one_of(iris, literals)),
)
def test_what_is_written_is_read_again(
    removed: list[ox.Quad], added: list[ox.Quad], headers: dict[str, ox.NamedNode | ox.Literal]
) -> None:
    found = rows("".join(write_patch(removed, added, headers)))
    assert [(row.name, row.value) for row in found if row.code == "H"] == list(headers.items())
    assert [row.quad for row in found if row.code == "D"] == removed
    assert [row.quad for row in found if row.code == "A"] == added
    assert found[len(headers)].code == "TX"
    assert found[-1].code == "TC"


@given(st.sets(quads), st.sets(quads), st.sets(quads))
def test_a_patch_makes_of_one_world_the_other(first: set[ox.Quad], gone: set[ox.Quad], new: set[ox.Quad]) -> None:
    with worlds.open(embedder=None) as world, worlds.open(embedder=None) as other:
        world.add(first)
        with world.transaction():
            world.remove(gone)
            world.add(new)
        here = len(world.history())
        other.revisions.apply(world.revisions.patch(0, here))
        assert quads_of(other) == quads_of(world)
        other.revisions.apply(world.revisions.patch(here, 0))
        assert quads_of(other) == set()
        assert other.check().ok


def quads_of(world: World) -> set[ox.Quad]:
    target = io.BytesIO()
    world.export(target, format="nq")
    return set(ox.parse(target.getvalue(), format=ox.RdfFormat.N_QUADS))


# --- reading ----------------------------------------------------------------------------------------------------------

PATCH = f"""\
# a comment
H id <urn:uuid:0686c69d-8f89-4496-acb5-744f0157a8db> .
H "prev" <urn:uuid:3ee0eca0-6d5f-4b4d-85db-f69ab1167eb1>
H note "a . # b" .

TX .
PA "rdf" "http://www.w3.org/1999/02/22-rdf-syntax-ns#" .
PA ex <{EX}> . # another
PD "" .
  A  <{EX}a> <{EX}p> "<_:no> a \\"quoted\\" one"@EN .
D <_:b1> <{EX}p> _:b2 <{EX}g> .\r
TC .
A <{EX}a> <{EX}p> <<( _:b <{EX}p> "x"@en--ltr )>> .
"""


def test_every_row_is_read() -> None:
    found = rows(PATCH)
    assert [row.code for row in found] == ["H", "H", "H", "TX", "PA", "PA", "PD", "A", "D", "TC", "A"]
    assert [row.name for row in found][:7] == ["id", "prev", "note", "", "rdf", "ex", ""]
    assert found[2].value == ox.Literal("a . # b")
    assert found[4].value == ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
    assert found[7].quad == quad(f'<{EX}a> <{EX}p> "<_:no> a \\"quoted\\" one"@en .')
    assert found[8].quad == quad(f"_:b1 <{EX}p> _:b2 <{EX}g> .")
    assert found[10].quad == quad(f'<{EX}a> <{EX}p> <<( _:b <{EX}p> "x"@en--ltr )>> .')


def test_a_patch_is_read_as_it_streams() -> None:
    line = f"A <{EX}a> <{EX}p> <{EX}b> .\n".encode()

    class Endless(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            return line

        __next__ = readline

    stream = read_patch(Endless(), "p")
    assert next(stream).quad == quad(f"<{EX}a> <{EX}p> <{EX}b> .")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("A <urn:a> <urn:p> .\n", "p, line 1, column 19"),
        ("TX .\n\n  A <urn:a> <urn:p> x .\nTC .", "p, line 3, column 21"),
        ("A <urn:a> <urn:p> 1 .\n", "p, line 1, column 19"),
        ("A <urn:a> <urn:p> <urn:o>\n", "p, line 1, column 26"),
        ("A <urn:a> <urn:p>\nA <urn:o> .\n", "p, line 1, column 18"),
        ("A <urn:a> <urn:p> <urn:o> <urn:g> <urn:x> .\n", "p, line 1"),
        ("A <urn:a> <urn:p> <urn:o> . <urn:a> <urn:p> <urn:o> .\n", "p, line 1"),
        ("A <urn:a> <urn:p> <urn:o> .\rD <urn:a> <urn:p> <urn:o> .\n", "p, line 1, column 28"),
        ("A <urn:a> <urn:p> <urn:o> .\nA # nothing\n", "p, line 2"),
        ("A <rel> <urn:p> <urn:o> .\n", "p, line 1, column 3"),
        ('A "s" <urn:p> <urn:o> .\n', "p, line 1, column 3"),
        ("A <_:a b> <urn:p> <urn:o> .\n", "p, line 1, column 3"),
        ("\n<urn:a> <urn:p> <urn:o> .\n", "p, line 2, column 1: '<urn:a>' begins no row"),
        ("  Z .\n", "p, line 1, column 3: 'Z' begins no row"),
        ("A<urn:a> <urn:p> <urn:o> .\n", "begins no row"),
        ("TX\nTC .\n", "p, line 1, column 1: the row should be TX and a dot"),
        ("TX .\nTX .\n", "p, line 2, column 1: a transaction inside another one"),
        ("TC .\n", "p, line 1, column 1: TC without TX"),
        ("TX .\nA <urn:a> <urn:p> <urn:o> .\n", "p, line 2, column 1: the patch ends inside a transaction"),
        ("TX .\nTC .\nH id <urn:x> .\n", "p, line 3, column 1: a header must come before"),
        ("H id .\n", "p, line 1, column 1: the row should be H, a word, a term and a dot"),
        ("H id <urn:a> <urn:b> .\n", "p, line 1"),
        ("H id nonsense .\n", "p, line 1, column 6"),
        ("PA 1x <urn:x> .\n", "p, line 1, column 4: '1x' is not a prefix"),
        ("PA ex: <urn:x> .\n", "p, line 1, column 4: 'ex:' is not a prefix"),
        ('PA ex "not an iri" .\n', "p, line 1, column 7"),
        ("PA ex _:b .\n", "p, line 1, column 7: a prefix must stand for an IRI"),
        ("PD ex <urn:x> .\n", "p, line 1, column 1: the row should be PD, a prefix and a dot"),
        ('A <urn:a> <urn:p> "\udcff" .\n', "p, line 1"),
        ("H note \udcff .\n", "p, line 1, column 8"),
    ],
)
def test_what_is_no_patch_is_refused_where_it_stands(text: str, place: str, world: World) -> None:
    data = text.encode("utf-8", "surrogateescape")
    with pytest.raises(ParseError) as raised:
        rows(data)
    assert place in str(raised.value)
    world.add([("urn:a", "urn:b", "urn:c")])
    with pytest.raises(ParseError):
        world.revisions.apply(data)
    assert len(world.history()) == len(world) == 1


# --- applying ---------------------------------------------------------------------------------------------------------


def test_a_patch_is_one_revision_and_sets_prefixes(world: World) -> None:
    world.add([("_:b1", EX + "p", "_:b2", EX + "g")])
    change = world.revisions.apply(PATCH, author="ann", message="from elsewhere")
    assert (change.revision, change.added, change.removed, change.embedded) == (2, 2, 1, 1)
    assert world.history()[0].author == "ann"
    assert world.history()[0].message == "from elsewhere"
    assert world.prefixes["ex"] == EX
    assert len(world) == 2
    assert world.search("quoted")[0].subject == rdflib.URIRef(EX + "a")
    assert world.check().ok


def test_a_patch_comes_from_a_path_bytes_text_or_a_file(tmp_path: Path, world: World) -> None:
    line = "A <urn:a> <urn:p> <urn:%d> ."
    plain, packed = tmp_path / "p.rdfp", tmp_path / "p.rdfp.gz"
    plain.write_text(line % 0)
    packed.write_bytes(gzip.compress((line % 1).encode()))
    given = [plain, str(packed), line % 2, (line % 3).encode(), io.BytesIO((line % 4).encode()), io.StringIO(line % 5)]
    for number, source in enumerate(given, 1):
        assert world.revisions.apply(source).revision == number
    for missing in (tmp_path / "none", "none", ""):
        with pytest.raises(OpenError):
            world.revisions.apply(missing)
    with pytest.raises(ParseError, match="is not one patch"):
        world.revisions.apply([plain, plain])
    with pytest.raises(TypeError):
        world.revisions.apply(7)


def test_what_is_aborted_is_not_applied(world: World) -> None:
    change = world.revisions.apply(
        "A <urn:1> <urn:p> <urn:o> .\nTX .\nA <urn:2> <urn:p> <urn:o> .\nPA no <urn:no> .\nTA .\n"
        "TX .\nA <urn:3> <urn:p> <urn:o> .\nPA yes <urn:yes> .\nTC .\n"
    )
    assert change.added == 2
    assert {str(quad.subject) for quad in quads_of(world)} == {"<urn:1>", "<urn:3>"}
    assert "no" not in world.prefixes
    assert world.prefixes["yes"] == "urn:yes"
    world.revisions.apply("PD yes .\n")
    assert "yes" not in world.prefixes


@pytest.mark.parametrize(
    ("codes", "there", "fits", "after"),
    [
        ("A", False, True, True),
        ("A", True, False, True),
        ("D", True, True, False),
        ("D", False, False, False),
        ("AD", False, True, False),
        ("DA", True, True, True),
        ("ADA", False, True, True),
        ("AA", False, False, True),
        ("DD", True, False, False),
        ("DA", False, False, True),
    ],
)
def test_rows_apply_one_after_the_other(codes: str, there: bool, fits: bool, after: bool, world: World) -> None:
    world.add([("urn:other", "urn:p", "urn:o")])
    if there:
        world.add([("urn:a", "urn:p", "urn:o")])
    before = world.history()
    text = "".join(
        f"{code} <urn:a> <urn:p> <urn:o> .\nA <urn:{at}> <urn:p> <urn:o> .\n" for at, code in enumerate(codes)
    )
    if not fits:
        with pytest.raises(ConflictError, match=r"does not fit this world: .* <urn:a> <urn:p> <urn:o>"):
            world.revisions.apply(text)
        assert world.history() == before
    world.revisions.apply(text, strict=fits)
    found = {str(quad.subject) for quad in quads_of(world)}
    assert ("<urn:a>" in found) == after
    assert found >= {"<urn:0>", "<urn:other>"}


def test_a_copy_follows_by_patches(tmp_path: Path) -> None:
    """Blank nodes keep their identity: in a copy of the world a label means the same node."""
    with worlds.open(tmp_path / "first.db", embedder=None) as world:
        world.load(b"_:x <urn:p> _:y . _:y <urn:p> 'one' .", format="turtle")
        world.file.backup(tmp_path / "copy.db")
        with worlds.open(tmp_path / "copy.db", embedder=None) as copy:
            for step in (b"_:x <urn:p> 'two' .", b"[] <urn:p> [] .", b"<urn:a> <urn:p> 'three' ."):
                last = world.history(1)[0].revision
                world.load(step, format="turtle", mode="replace" if b"three" in step else "merge")
                copy.revisions.apply(world.revisions.patch(last))
                assert quads_of(copy) == quads_of(world)
            assert copy.check().ok


def test_patches_of_one_world_are_a_chain(world: World) -> None:
    for number in range(3):
        world.add([("urn:a", "urn:p", number)])
    headers = [
        {row.name: row.value for row in rows(world.revisions.patch(at, at + 1)) if row.code == "H"} for at in range(3)
    ]
    assert "prev" not in headers[0]
    assert headers[1]["prev"] == headers[0]["id"]
    assert headers[2]["prev"] == headers[1]["id"]
    assert world.revisions.patch(1, 2) == world.revisions.patch(1, 2)
    assert len({str(header["id"]) for header in headers}) == 3
