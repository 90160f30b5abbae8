"""Fixtures: a browser with the page of a served world."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.page import CHROMIUM, HOSTILE, WIDE, Tab
from tests.support.serving import EMBEDDER, ROOT, Served, served


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("built")
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
def folder(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two worlds; `space` has three revisions."""
    return Path(shutil.copytree(built, tmp_path_factory.mktemp("worlds"), dirs_exist_ok=True))


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


@pytest.fixture(scope="package")
def pages(browser: Any) -> list[Any]:
    """The page that one test after the other has: a new one takes longer than most tests."""
    return []


@pytest.fixture
def new_tab(browser: Any, pages: list[Any], server: Served) -> Iterator[Callable[..., Tab]]:
    """Makes tabs, and looks at the end whether they had errors, broke the policy, or asked somebody else."""
    tabs: list[Tab] = []
    kept: list[Tab] = []
    contexts: list[Any] = []

    def make(
        base: str = f"{server.url}/worlds/space",
        viewport: dict[str, int] = WIDE,
        key: str | None = None,
        script: str = "",
        **options: Any,
    ) -> Tab:
        if pages and not (script or options):
            page = pages.pop()
            page.set_viewport_size(viewport)
        else:
            contexts.append(browser.new_context(viewport=viewport, **options))
            page = contexts[-1].new_page()
            page.set_default_timeout(20_000)
            if script:
                page.add_init_script(script)
        tab = Tab(page, base, key)
        if not (script or options):
            kept.append(tab)
        tab.watch()
        tabs.append(tab)
        return tab

    yield make
    for tab in kept[:1]:
        tab.close()
        pages.append(tab.page)
    for context in contexts:
        if context not in [page.context for page in pages]:
            context.close()
    for tab in tabs:
        tab.check()


@pytest.fixture
def tab(new_tab: Callable[..., Tab]) -> Tab:
    return new_tab()
