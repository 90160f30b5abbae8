"""Fixtures: a browser with the page of a served world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.page import CHROMIUM, HOSTILE, WIDE, Tab
from tests.support.serving import EMBEDDER, ROOT, Served, served


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two worlds; `space` has three revisions."""
    made = tmp_path_factory.mktemp("worlds")
    with worlds.open(made / "space.db", embedder=HashingEmbedder()) as world:
        world.load(ROOT / "examples" / "space.ttl", author="ann", message="The space of space.ttl")
        world.load(HOSTILE.encode(), format="ttl", graph="urn:notes", author="bob", message="Notes <b>of</b> others")
        world.add([("ex:Sojourner", "s:nickname", '"little rover"@en')], author="ann", message="A nickname")
        world.facts.state("ex:Beacon", "s:stands", "ex:North", valid_from="1997", valid_to="2150", author="ann")
        world.facts.state("ex:Beacon", "s:stands", "ex:South", valid_to="1990", author="ann")
    with worlds.open(made / "empty.db", embedder=None):
        pass
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with served(folder, "--allow-writes", "--readers", "2", embedder=EMBEDDER) as found:
        yield found


@pytest.fixture(scope="package")  # while it lives, no other loop of asyncio runs in the process
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright drives it; it is in the dev extra")
    if not CHROMIUM:
        pytest.skip("there is no Chromium on the PATH")
    playwright.expect.set_options(timeout=15_000)  # the machine may be busy
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def new_tab(browser: Any, server: Served) -> Iterator[Callable[..., Tab]]:
    """Makes tabs, and looks at the end whether they had errors, broke the policy, or asked somebody else."""
    tabs: list[Tab] = []
    contexts: list[Any] = []

    def make(base: str = f"{server.url}/worlds/space", viewport: dict[str, int] = WIDE, **options: Any) -> Tab:
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        tab = Tab(context.new_page(), base)
        tab.page.set_default_timeout(20_000)
        tab.watch()
        tabs.append(tab)
        return tab

    yield make
    for context in contexts:
        context.close()
    for tab in tabs:
        tab.check()


@pytest.fixture
def tab(new_tab: Callable[..., Tab]) -> Tab:
    return new_tab()
