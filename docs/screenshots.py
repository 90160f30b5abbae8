"""Make the screenshots of docs/workbench.md: a real server, the world of examples/space.ttl, and Chromium.

    python docs/screenshots.py [NAME ...]

It needs the extras server and dev, a Chromium on the PATH, and best a model (the extra model).
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import sync_playwright

import worlds

ROOT = Path(__file__).resolve().parents[1]
IMAGES = Path(__file__).with_name("images")
EX = "https://worlds.example/space/"
RDFS, XSD = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2001/XMLSchema#"
COMMENT = f"{RDFS}comment"
SHAPES = f"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix s: <{EX}schema#> . @prefix rdfs: <{RDFS}> .
@prefix xsd: <{XSD}> .
s:RoverShape a sh:NodeShape ; sh:targetClass s:Rover ; sh:property
  [ sh:path rdfs:label ; sh:minCount 1 ; sh:uniqueLang true ; sh:order 1 ; sh:name "Name"@en ;
    sh:description "What people call it, once in each language."@en ] ,
  [ sh:path s:massKg ; sh:minCount 1 ; sh:maxCount 1 ; sh:datatype xsd:integer ; sh:order 2 ] .
"""
WIDE = {"width": 1280, "height": 860}
SMALL = {"width": 390, "height": 860}
MOST = 160_000  # bytes of an image
SCALE = 2  # by which the other themes and windows are smaller
GAP = 12  # pixels between them
ROVERS = """SELECT ?rover ?launched ?score ?text WHERE {
  ?rover a s:Rover ; s:launched ?launched .
  SERVICE w:search {
    ?hit w:query "signs of ancient water" ; w:limit 10 ; w:language "en" ;
         w:subject ?rover ; w:score ?score ; w:text ?text .
  }
} ORDER BY DESC(?score)"""
STATIONS = """CONSTRUCT { ?a ?property ?b } WHERE {
  SERVICE w:search {
    ?hit w:query "space station" ; w:subject ?a ; w:limit 12 .
  }
  ?a ?property ?b .
  FILTER(isIRI(?b) && ?property != rdf:type)
} LIMIT 60"""
HEAVIER = "DELETE { ?r s:massKg ?m } INSERT { ?r s:massKg ?more } WHERE { ?r s:massKg ?m BIND(?m * 1.1 AS ?more) }"
SITES = """SELECT ?site ?place ?lat ?long WHERE {
  ?site a s:LaunchSite ; schema:latitude ?lat ; schema:longitude ?long ; rdfs:label ?place .
  FILTER(LANG(?place) = "en")
}"""
MISSIONS = """SELECT ?target (COUNT(?mission) AS ?missions) WHERE {
  ?mission s:target ?target
} GROUP BY ?target ORDER BY DESC(?missions) LIMIT 12"""


def build(path: Path) -> None:
    """A world with a history."""
    with worlds.open(path) as world:
        world.load(ROOT / "examples" / "space.ttl", author="ann", message="The space of space.ttl")
        world.update(
            'INSERT DATA { ex:Sojourner skos:altLabel "Micro rover"@en ; s:carries ex:APXS . '
            'ex:APXS rdfs:label "Alpha proton X-ray spectrometer"@en }',
            author="ben",
            message="What Sojourner carried",
        )
        world.update(
            "DELETE { ?r s:massKg ?old } INSERT { ?r s:massKg 11.5 } "
            "WHERE { VALUES ?r { ex:Sojourner } ?r s:massKg ?old }",
            author="carla",
            message="The mass of Sojourner, with its mounts",
        )
        world.load(
            f"@prefix ex: <{EX}> . @prefix s: <{EX}schema#> . @prefix rdfs: <{RDFS}> . @prefix xsd: <{XSD}> ."
            'ex:Sojourner2 a s:Rover ; rdfs:label "Sojourner rover"@en ; s:launched "1996-12-04"^^xsd:date ; '
            's:agency ex:NASA . ex:Spirit s:launched "1903-06-10"^^xsd:date .'.encode(),
            format="ttl",
            author="import",
            message="Another list of rovers",
        )
        world.shapes.load(SHAPES.encode(), format="ttl")
        for name, called in (("Curiosity", "MSL"), ("Opportunity", "Oppy"), ("Spirit", "MER-A")):
            world.proposals.add(
                add=[(f"ex:{name}", "s:nickname", f'"{called}"@en')],
                why="It is called so in a report",
                confidence=len(called) / 6,
                author="agent",
                kind="nickname",
            )
        world.proposals.add(
            remove=[("ex:Spirit", "s:launched", '"1903-06-10"^^xsd:date')],
            why="No rover was launched in 1903",
            confidence=0.97,
            author="agent",
        )
        world.load(
            f'<{EX}Mars> <{COMMENT}> "Next opposition: February 2027."@en .'.encode(),
            format="nt",
            graph="urn:notes",
            author="ann",
            message="Notes of the observers",
        )


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """The address of a server of the world."""
    command = [sys.executable, "-m", "worlds", "serve", str(path), "--port", "0", "--allow-writes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().rpartition(" ")[2].strip()
            for number in range(8):  # each of its processes opens the world and the model at its first search
                with urlopen(f"{address}/search?q=warm+{number}&types=ex:Warm&facets=true") as answer:
                    answer.read()
            yield address
        finally:
            process.terminate()


SHOTS: dict[str, tuple[dict[str, str], str]] = {  # name → the state, and what must be there
    "start": ({}, ".figures"),
    "search": ({"q": "soil from another world", "languages": "en"}, ".facet"),
    "explanation": ({"q": "who walked on the moon", "languages": "en"}, ".facet"),
    "browse": ({"browse": f"{EX}schema#Rover", "facet": f"{EX}schema#agency"}, ".member-facets .facet"),
    "entity": ({"entity": f"{EX}Sojourner"}, ".short-list"),
    "who": ({"entity": f"{EX}Spirit"}, ".entity-acts .actions"),
    "edit": ({"edit": f"{EX}Sojourner"}, ".field"),
    "new": ({"new": ""}, ".new-form"),
    "merge": ({"merge": f"{EX}Sojourner", "with": f"{EX}Sojourner2"}, ".rehearsal .diff"),
    "review": ({"review": ""}, ".review-group .item"),
    "health": ({"health": ""}, ".effect .check"),
    "query": ({"query": ROVERS}, ".results-head"),
    "graph": ({"query": STATIONS, "as": "graph"}, ".results-head"),
    "chart": ({"query": MISSIONS, "as": "chart"}, ".results-head"),
    "map": ({"query": SITES, "as": "map"}, ".map"),
    "update": ({"query": HEAVIER}, ".diff"),
    "history": ({"history": "3"}, ".diff"),
}


def ready(page: Any, name: str) -> None:
    """Do what a picture shows."""
    if name == "explanation":
        page.locator(".hit .why").first.click()
        page.locator(".legs").wait_for()
    elif name == "who":
        page.get_by_role("button", name="Who says so: launched").click()
        page.locator(".timeline").wait_for()
    elif name == "edit":
        page.get_by_role("group", name="mass in kilograms").get_by_role("textbox").first.fill("eleven")
        page.locator(".field .problems li").first.wait_for()


def save(image: Image.Image, path: Path) -> None:
    """Write a picture with as many colours as it may have."""
    for colours in (256, 128, 64, 32):
        image.convert("RGB").quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
        if path.stat().st_size < MOST:
            print(path.name, path.stat().st_size, "bytes")
            return
    raise SystemExit(f"{path} has {path.stat().st_size} bytes")


def shot(browser: Any, address: str, name: str, window: dict[str, int], scheme: str) -> Image.Image:
    """A view in a window and a theme."""
    state, wanted = SHOTS[name]
    context = browser.new_context(viewport=window, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/#{urlencode(state)}")
    page.wait_for_load_state("networkidle")
    page.locator(wanted).first.wait_for(state="attached")
    ready(page, name)
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement?.blur()")
    page.wait_for_timeout(400)
    taken = Image.open(io.BytesIO(page.screenshot()))
    context.close()
    return taken


def take(browser: Any, address: str, wanted: list[str]) -> None:
    """Take the pictures: of each view one in the light, and one of the dark and the small ones beside each other."""
    for name in SHOTS:
        if wanted and not any(re.fullmatch(one, name) for one in wanted):
            continue
        save(shot(browser, address, name, WIDE, "light"), IMAGES / f"page-{name}.png")
        others = [shot(browser, address, name, *how) for how in ((WIDE, "dark"), (SMALL, "light"), (SMALL, "dark"))]
        others = [one.resize((one.width // SCALE, one.height // SCALE), Image.Resampling.LANCZOS) for one in others]
        sheet = Image.new("RGB", (sum(one.width + GAP for one in others) - GAP, others[0].height), "white")
        place = 0
        for one in others:
            sheet.paste(one, (place, 0))
            place += one.width + GAP
        save(sheet, IMAGES / f"page-{name}-more.png")


def main() -> None:
    """All of them, or those that are named."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "space.db"
        build(path)
        with serving(path) as address, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            take(browser, address, sys.argv[1:])
            browser.close()


if __name__ == "__main__":
    main()
