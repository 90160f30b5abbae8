"""Makes documents of every kind: what a word processor, a publisher and a printer would write, as small as can be."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(paragraphs: Sequence[tuple[str, str]], title: str = "A paper") -> bytes:
    """A Word document of (style, text), "" for no style."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text[:3]}</w:t></w:r>'
        f"<w:r><w:t>{text[3:]}</w:t></w:r></w:p>"
        for style, text in paragraphs
    )
    core = (
        '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>Ann</dc:creator></cp:coreProperties>"
    )
    parts = {
        "word/document.xml": f"<w:document {_WORD}><w:body>{body}</w:body></w:document>",
        "docProps/core.xml": core,
    }
    return archive(parts)


def epub(items: Sequence[tuple[str, str]], title: str = "A book") -> bytes:
    """A book of (name, HTML of the body)."""
    manifest = "".join(
        f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, (name, _) in enumerate(items)
    )
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(len(items)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>{title}</dc:title><dc:language>en</dc:language></metadata>"
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    pages = {f"OEBPS/{name}": f"<html><body>{body}</body></html>" for name, body in items}
    return archive({"META-INF/container.xml": container, "OEBPS/book.opf": package, **pages})


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return out.getvalue()


def pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF of pages of lines, in Helvetica."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        drawn = " ".join(f"({line}) Tj T*" for line in lines)
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {drawn} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        contents = len(objects)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()
