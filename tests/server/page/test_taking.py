"""What is shown is taken away as files, states get names, and texts are linked, on the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.page import EX, Tab, expect
from tests.support.serving import Served

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(folder: Path, server: Served, new_tab: Callable[..., Tab], request: pytest.FixtureRequest) -> Tab:
    """The page of a world that nobody else writes to."""
    name = request.node.name
    shutil.copyfile(folder / "space.db", folder / f"{name}.db")
    return new_tab(f"{server.url}/worlds/{name}")


def saved(page: Any, name: str) -> tuple[str, str]:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_text("utf-8")


def test_an_entity_a_class_and_a_list_are_taken_out(bench: Tab) -> None:
    tab, quads = bench, [f"<{EX}Curiosity> <urn:x> {value} ." for value in ('"=1+1"', '"-5"')]
    httpx.post(f"{tab.url}/quads", json={"add": quads}, timeout=60).raise_for_status()
    page = tab.open(entity=EX + "Curiosity")
    page.get_by_text("Take out", exact=True).click()
    name, turtle = saved(page, "This entity as Turtle")
    assert name.endswith(".ttl")
    assert f"<{EX}Curiosity> " in turtle or "ex:Curiosity" in turtle
    assert saved(page, "This entity as JSON-LD")[1].startswith(("[", "{"))
    csv = saved(page, "This entity as CSV")[1]
    assert csv.startswith('"subject","property","value"\n"')
    assert '"\'=1+1"' in csv, "a spreadsheet takes it for a text"
    assert '"-5"' in csv, "a number is none"
    page = tab.open(entity=EX + "schema#Rover")
    page.get_by_text("Take out", exact=True).click()
    assert f'"{EX}Curiosity",' in saved(page, "Its instances or concepts as CSV")[1]
    page = tab.open(q="rover on Mars")
    page.get_by_text("Take out", exact=True).click()
    assert len(saved(page, "These entities as CSV")[1].splitlines()) > 5


def test_a_state_gets_a_name(bench: Tab) -> None:
    page = bench.open(history="3")
    page.get_by_label("Tag", exact=True).fill("2026-11")
    page.get_by_role("button", name="Add the tag").click()
    expect(page.get_by_role("button", name="Remove the tag 2026-11")).to_be_visible()
    assert httpx.get(f"{bench.url}/tags").json()["tags"][0]["revision"] == 3
    page.get_by_role("button", name="Remove the tag 2026-11").click()
    expect(page.get_by_role("button", name="Remove the tag 2026-11")).to_have_count(0)


def test_texts_are_linked_and_unlinked(bench: Tab) -> None:
    bench.expected.append("404")  # of a world without shapes
    page = bench.open(health="")
    page.get_by_role("button", name="Link texts to the entities they name").click()
    expect(page.locator(".notice")).to_contain_text("Texts are linked as revision")
    graph = {"graph": "urn:worlds:mentions"}
    assert "mentions" in httpx.get(f"{bench.url}/graphs", params=graph).text
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_contain_text("Undone")
    page.get_by_role("button", name="Propose the links").click()
    expect(page.get_by_role("link", name="proposal 1")).to_be_visible()
