"""What a word processor, a reader of books and a viewer show of a document is read once, and what is not is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.packed import archive, epub, pdf
from worlds import ParseError
from worlds.extras.documents.conversion import DocumentText, read_named

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SPACES = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def paragraph(inside: str) -> str:
    return f"<w:p>{inside}</w:p>"


def equation(inside: str) -> str:
    return f"<m:oMath>{inside}</m:oMath>"


def letter(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def read(body: str, word: str = WORD, **more: str) -> DocumentText:
    parts = {
        f"word/{name}.xml": f'<w:{name} xmlns:w="{word}" {SPACES}>{text}</w:{name}>' for name, text in more.items()
    }
    document = f'<w:document xmlns:w="{word}" {SPACES}><w:body>{body}</w:body></w:document>'
    return read_named(archive({"word/document.xml": document, **parts}), "a.docx")


BOX = f"<w:txbxContent>{paragraph(run('BOX'))}</w:txbxContent>"
CHOICES = (
    f"<mc:Choice Requires='wps'><wps:txbx>{BOX}</wps:txbx></mc:Choice>"
    f"<mc:Fallback><w:pict><v:textbox>{BOX}</v:textbox></w:pict></mc:Fallback>"
)


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (run("a") + f"<w:r><mc:AlternateContent>{CHOICES}</mc:AlternateContent></w:r>" + run("b"), "ab\n\nBOX"),
        (
            "<w:r><mc:AlternateContent><mc:Choice/><mc:Fallback><w:t>x</w:t></mc:Fallback></mc:AlternateContent></w:r>",
            "x",
        ),
        (f"<w:moveFrom>{run('OLD')}</w:moveFrom><w:moveTo>{run('NEW')}</w:moveTo>", "NEW"),
        (f"<w:del><w:r><w:delText>x</w:delText></w:r></w:del><w:ins>{run('y')}</w:ins>", "y"),
        (
            "<w:r><w:t>e</w:t><w:noBreakHyphen/><w:t>mail co</w:t><w:softHyphen/><w:t>op</w:t></w:r>",
            "e\u2011mail co\u00adop",
        ),
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>", "a b c"),
        (f"<w:hyperlink>{run('link')}</w:hyperlink><w:sdt><w:sdtContent>{run('s')}</w:sdtContent></w:sdt>", "links"),
        (run("E = ") + equation(letter("mc2")), "E = mc2"),
        (equation(f"<m:f><m:fPr/><m:num>{letter('a+b')}</m:num><m:den>{letter('2')}</m:den></m:f>"), "(a+b)/2"),
        (equation(f"<m:sSup><m:e>{letter('c')}</m:e><m:sup>{letter('2')}</m:sup></m:sSup>"), "c^2"),
        (equation(letter("2") + f"<m:d><m:e>{letter('p+s')}</m:e></m:d>"), "2(p+s)"),
        (
            equation(f"<m:d><m:dPr><m:begChr m:val='|'/><m:endChr m:val='|'/></m:dPr><m:e>{letter('p')}</m:e></m:d>"),
            "|p|",
        ),
        (equation(f"<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{letter('y')}</m:e></m:rad>"), "√y"),
        (equation(f"<m:rad><m:deg>{letter('3')}</m:deg><m:e>{letter('y+1')}</m:e></m:rad>"), "3√(y+1)"),
        (
            equation(
                "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>"
                f"<m:sub>{letter('i=1')}</m:sub><m:sup>{letter('n')}</m:sup><m:e>{letter('q')}</m:e></m:nary>"
            ),
            "∑_(i=1)^n q",
        ),
        (equation(f"<m:nary><m:sub/><m:sup/><m:e>{letter('q')}</m:e></m:nary>"), "∫ q"),
        (
            equation(
                f"<m:d><m:e><m:f><m:fPr><m:type m:val='noBar'/></m:fPr><m:num>{letter('n')}</m:num>"
                f"<m:den>{letter('k')}</m:den></m:f></m:e></m:d>"
            ),
            "(n choose k)",
        ),
        (equation(f"<m:acc><m:e>{letter('x')}</m:e></m:acc>"), "x\u0302"),
        (
            equation(
                f"<m:m><m:mr><m:e>{letter('1')}</m:e><m:e>{letter('2')}</m:e></m:mr>"
                f"<m:mr><m:e>{letter('3')}</m:e><m:e>{letter('4')}</m:e></m:mr></m:m>"
            ),
            "[1, 2; 3, 4]",
        ),
        (equation(f"<m:func><m:fName>{letter('sin')}</m:fName><m:e>{letter('x')}</m:e></m:func>"), "sin x"),
    ],
)
@pytest.mark.parametrize("word", [WORD, "http://purl.oclc.org/ooxml/wordprocessingml/main"])
def test_a_docx_is_read_as_word_shows_it(inside: str, text: str, word: str) -> None:
    found = read(paragraph(inside), word)
    assert (found.text, found.left_out) == (text, ())


def test_notes_stand_below_their_paragraph() -> None:
    asked = "<w:r><w:footnoteReference w:id='2'/></w:r>" + run(" more") + "<w:r><w:endnoteReference w:id='1'/></w:r>"
    notes = {
        "footnotes": f"<w:footnote w:id='2'>{paragraph(run('NOTE'))}</w:footnote>",
        "endnotes": f"<w:endnote w:id='1'>{paragraph(run('END'))}</w:endnote>",
    }
    found = read(paragraph(run("claim") + asked) + paragraph(run("next")), **notes)
    assert found.text == "claim[^2] more[^e1]\n\n[^2]: NOTE\n\n[^e1]: END\n\nnext"
    assert found.places["parts"] == [1, 1, 1, 2]
    (told,) = read(paragraph(run("claim") + asked), footnotes=notes["footnotes"]).left_out
    assert "word/endnotes.xml cannot be read" in told
    (told,) = read(paragraph(run("claim")), header1=run("top"), comments="").left_out
    assert told == "its parts comments.xml, header1.xml are not read"
    odd = "<w:r><w:sym w:font='Wingdings' w:char='F04A'/></w:r>" + run("claim") + "<w:altChunk/>"
    assert read(paragraph(odd)).left_out == (
        "what it imports is not read",
        "its symbols of the font Wingdings are not read",
    )


def test_what_a_book_lacks_is_named_and_the_rest_is_read() -> None:
    import io
    import zipfile

    book = zipfile.ZipFile(io.BytesIO(epub([("a.xhtml", "<p>alpha</p>"), ("b.xhtml", "<p>beta</p>")])))
    parts = {name: book.read(name) for name in book.namelist()}
    del parts["OEBPS/b.xhtml"]
    parts["OEBPS/book.opf"] = parts["OEBPS/book.opf"].replace(b"</spine>", b'<itemref idref="no"/></spine>')
    found = read_named(archive(parts), "a.epub")
    assert found.text == "alpha"
    missing, unknown = found.left_out
    assert missing.startswith("its part OEBPS/b.xhtml cannot be read")
    assert unknown == "its item 'no' is not in the manifest"
    del parts["OEBPS/a.xhtml"]
    with pytest.raises(ParseError, match=r"a\.epub.*a\.xhtml"):
        read_named(archive(parts), "a.epub")


def test_pages_without_text_are_named(tmp_path: Path) -> None:
    import worlds

    (tmp_path / "a.pdf").write_bytes(pdf([["one"], [], [], ["four"], []]))
    with worlds.open(embedder=None) as world:
        world.sources.add(str(tmp_path), name="s", kind="documents")
        (synced,) = world.sources.sync()
        assert synced.notes == ("a.pdf: pages 2-3, 5 have no text, as a scan has none",)
        assert not synced.errors
        assert world.sources.add_document("urn:a", tmp_path / "a.pdf").notes == (
            synced.notes[0].removeprefix("a.pdf: "),
        )
