"""A browser with the page of a served world."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import pytest

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
EX = "https://worlds.example/space/"
WIDE = {"width": 1280, "height": 900}
SMALL = {"width": 360, "height": 740}
SMALLEST = {"width": 320, "height": 640}
AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
    ({id, nodes}) => [id, ...nodes.map(({html}) => html.slice(0, 120))])"""
ANEW = """([address, key]) => {
    history.replaceState(null, "", address);
    if (key !== null) sessionStorage.setItem("worlds-key", key);
}"""
END = "() => { stop(); if (origin !== 'null') { localStorage.clear(); sessionStorage.clear(); } }"
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
    key: str | None = None  # that was entered
    wrong: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # patterns of what may go wrong
    waiting: set[Any] = field(default_factory=set)  # requests
    listening: list[tuple[str, Callable[[Any], object]]] = field(default_factory=list)

    def open(self, **state: str | list[str]) -> Any:
        """The page in this state, which is its address."""
        address = f"{self.url}#{urlencode(state, doseq=True)}"
        if not self.page.url.startswith(urljoin(self.url, "/")):
            if self.key is None:
                self.page.goto(address)
                return self.page
            self.land()
        # Loaded anew where it is, it stays in the browser's process of it, which a blank page between would end.
        self.page.evaluate(ANEW, [address, self.key])
        self.page.reload()
        return self.page

    def land(self) -> None:
        """An empty page in the place of one of the server, which is asked for nothing."""
        place = urljoin(self.url, "/landing")
        self.page.route(
            place, lambda route: route.fulfill(content_type="text/html", body="<link rel=icon href=data:,>")
        )
        self.page.goto(place)
        self.page.unroute(place)

    def go(self, **state: str | list[str]) -> Any:
        """The page in this state, without loading it anew."""
        self.page.evaluate("state => { location.hash = state; }", urlencode(state, doseq=True))
        self.settle()
        return self.page

    def listen(self, event: str, heard: Callable[[Any], object]) -> None:
        """Call this at each event, until the tab is closed."""
        self.page.on(event, heard)
        self.listening.append((event, heard))

    def dialogs(self, *, accept: bool) -> list[str]:
        """The messages of the dialogs that the page opens from now on, each of which is accepted or dismissed."""
        messages: list[str] = []

        def asked(dialog: Any) -> None:
            messages.append(dialog.message)
            (dialog.accept if accept else dialog.dismiss)()

        self.listen("dialog", asked)
        return messages

    def watch(self) -> None:
        """Note errors, what breaks the policy, and requests to anybody but the server."""
        home = urlsplit(self.url).netloc

        def said(message: Any) -> None:
            if message.type in ("error", "warning"):
                self.wrong.append(message.text)

        def asked(request: Any) -> None:
            self.waiting.add(request)
            if urlsplit(request.url).netloc not in (home, ""):
                self.wrong.append(f"a request to {request.url}")

        self.listen("console", said)
        self.listen("request", asked)
        for end in ("requestfinished", "requestfailed"):
            self.listen(end, lambda request: self.waiting.discard(request))
        self.listen("pageerror", lambda error: self.wrong.append(f"page error: {error}"))

    def settle(self) -> None:
        """Wait until nothing has been asked for, for a moment."""
        quiet = 0
        while quiet < 3:
            self.page.wait_for_timeout(30)
            quiet = 0 if self.waiting else quiet + 1

    def close(self) -> None:
        """Leave the page to the next test, as new."""
        for event, heard in self.listening:
            self.page.remove_listener(event, heard)
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.emulate_media(color_scheme="null")
        self.page.evaluate(END)

    def check(self) -> None:
        """Nothing went wrong but what was expected to."""
        left = [text for text in self.wrong if not any(re.search(one, text) for one in self.expected)]
        assert not left, left


def expect(found: Any) -> Any:
    """Playwright's assertions, which wait for what they assert."""
    from playwright import sync_api

    return sync_api.expect(found)


def expect_readable(page: Any, view: str, *further: dict[str, int], long: bool = False) -> None:
    """A view fits by rules of our own in two windows, and in further ones, and one of the two by those of axe-core.

    A long run asks axe-core of both windows, in both themes.
    """
    if not page.evaluate("() => 'axe' in window"):
        axe = pytest.importorskip("axe_playwright_python", reason="axe-core is in the dev extra")
        page.evaluate(Path(axe.__path__[0], "axe.min.js").read_text("utf-8"))
    themes = {"small": ("light",), "wide": ()} if len(view) % 2 else {"small": (), "wide": ("dark",)}
    themes = dict.fromkeys(themes, ("light", "dark")) if long else themes
    for viewport, schemes in (*((one, ()) for one in further), (SMALL, themes["small"]), (WIDE, themes["wide"])):
        page.set_viewport_size(viewport)
        wrong = page.evaluate(CHECKS)
        assert wrong == [], (view, viewport, wrong)
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            wrong = page.evaluate(AXE)
            assert wrong == [], (view, viewport, scheme, wrong)


def first_labels(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".hit h3").all_inner_texts()]
