"""A browser with the page of a served world."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
EX = "https://worlds.example/space/"
WIDE = {"width": 1280, "height": 900}
SMALL = {"width": 360, "height": 740}
SMALLEST = {"width": 320, "height": 640}
AXE = """async () => (await axe.run(document)).violations.map(
    ({id, nodes}) => [id, ...nodes.map(({html}) => html.slice(0, 120))])"""
CHECKS = Path(__file__).with_name("page_checks.js").read_text("utf-8")
# A page that loaded an image or ran a handler out of this data would say so.
HOSTILE = f"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<{EX}trap> rdfs:label "<img src=x onerror=document.title='run'>trap" ;
  rdfs:comment "**bold** <script>document.title='run'</script> trap" ; rdfs:seeAlso <javascript:document.title='run'> .
<javascript:document.title='run'> rdfs:label "trap of a script" .
<{EX}note> rdfs:label "ملاحظة عن المريخ"@ar ; rdfs:comment "هذه ملاحظة عن كوكب المريخ"@ar .
"""


@dataclass
class Tab:
    """A page of the browser, and what went wrong in it."""

    page: Any
    url: str
    wrong: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # patterns of what may go wrong

    def open(self, **state: str | list[str]) -> Any:
        """The page in this state, which is its address."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}#{urlencode(state, doseq=True)}")
        return self.page

    def dialogs(self, *, accept: bool) -> list[str]:
        """The messages of the dialogs that the page opens from now on, each of which is accepted or dismissed."""
        messages: list[str] = []

        def asked(dialog: Any) -> None:
            messages.append(dialog.message)
            (dialog.accept if accept else dialog.dismiss)()

        self.page.on("dialog", asked)
        return messages

    def watch(self) -> None:
        """Note errors, what breaks the policy, and requests to anybody but the server."""
        home = urlsplit(self.url).netloc

        def said(message: Any) -> None:
            if message.type in ("error", "warning"):
                self.wrong.append(message.text)

        def asked(request: Any) -> None:
            if urlsplit(request.url).netloc not in (home, ""):
                self.wrong.append(f"a request to {request.url}")

        self.page.on("console", said)
        self.page.on("request", asked)
        self.page.on("pageerror", lambda error: self.wrong.append(f"page error: {error}"))

    def check(self) -> None:
        """Nothing went wrong but what was expected to."""
        left = [text for text in self.wrong if not any(re.search(one, text) for one in self.expected)]
        assert not left, left


def expect(found: Any) -> Any:
    """Playwright's assertions, which wait for what they assert."""
    from playwright import sync_api

    return sync_api.expect(found)


def expect_readable(page: Any, view: str, *further: dict[str, int]) -> None:
    """A view fits by rules of our own, in further windows too, and by those of axe-core in two, in both themes."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is in the dev extra")
    page.evaluate(Path(axe.__path__[0], "axe.min.js").read_text("utf-8"))
    for viewport in (*further, SMALL, WIDE):
        page.set_viewport_size(viewport)
        wrong = page.evaluate(CHECKS)
        assert wrong == [], (view, viewport, wrong)
        for scheme in ("light", "dark") if viewport not in further else ():
            page.emulate_media(color_scheme=scheme)
            wrong = page.evaluate(AXE)
            assert wrong == [], (view, viewport, scheme, wrong)


def first_labels(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".hit h3").all_inner_texts()]
