"""Conclusions on the page: a switch shows them, each says so, and opens its proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import worlds
from tests.support.page import Tab, expect
from tests.support.serving import served

pytestmark = pytest.mark.slow
E = "https://example.org/"


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a world with rules."""
    folder = tmp_path_factory.mktemp("ruled")
    with worlds.open(folder / "kb.db", embedder=None) as world:
        world.bind("ex", E)
        world.add([("ex:Owl", "rdfs:subClassOf", "ex:Bird"), ("ex:tawny", "rdf:type", "ex:Owl")], author="ann")
        world.add([("ex:eats", "owl:inverseOf", "ex:eatenBy"), ("ex:tawny", "ex:eats", "ex:mouse")], author="bob")
        world.rules.use("rdfs+")
    with served(folder, "--readers", "1") as server:
        yield f"{server.url}/worlds/kb"


def test_a_switch_shows_conclusions_and_each_has_a_proof(ruled: str, new_tab: Callable[..., Tab]) -> None:
    page = new_tab(ruled).open(entity=f"{E}tawny")
    expect(page.locator(".types")).to_have_text("ex:Owl")
    page.get_by_label("With conclusions").check()
    expect(page.locator(".types")).to_contain_text("ex:Bird")
    expect(page.get_by_label("With conclusions")).to_be_checked()
    page.get_by_role("button", name="concluded").first.click()
    steps = page.locator("div.who li")
    expect(steps).to_have_count(3)
    expect(steps.first).to_contain_text("follows by rdfs9 from 2, 3")
    expect(page.locator(".entity div.who")).to_contain_text("revision 1 by ann")
    page.get_by_label("With conclusions").uncheck()
    expect(page.locator(".types")).to_have_text("ex:Owl")
    expect(page.get_by_role("button", name="concluded")).to_have_count(0)


def test_a_concluded_link_says_so(ruled: str, new_tab: Callable[..., Tab]) -> None:
    page = new_tab(ruled).open(entity=f"{E}mouse")
    page.get_by_label("With conclusions").check()
    said = page.locator(".properties li", has_text="tawny").filter(has=page.get_by_role("button", name="concluded"))
    said.get_by_role("button").click()
    expect(said.locator("div.who")).to_contain_text("follows by prp-inv")
