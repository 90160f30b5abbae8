"""The files of the web page: how they are served, what they may not hold, and how they come into the wheel."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request

import worlds
from tests.support import seams
from tests.support.serving import ROOT, Served, served
from worlds.doors.server import bundle, page

FOLDER = ROOT / "worlds" / "doors" / "server" / "page"
SOURCES = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.*"))}
MODULES = {name: text for name, text in SOURCES.items() if name.endswith(".js")}
NAMESPACES = {
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/2004/02/skos/core#",
    "http://www.w3.org/ns/shacl#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2000/01/rdf-schema#subClassOf",
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/2001/XMLSchema#",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("page") / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:b", '"c"')])
    with served(path, "--readers", "1") as found:
        yield found


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


# --- how they are served ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/worlds/kb", "/page/app.js", "/page/base.css", "/page/icon.svg"])
def test_the_page_and_its_files_have_the_headers_that_protect_them(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"


def test_each_world_has_a_page_of_its_own(client: httpx.Client) -> None:
    assert 'data-base="" data-world="kb"' in client.get("/").text
    assert 'data-base="/worlds/kb" data-world="kb"' in client.get("/worlds/kb").text


def test_a_name_cannot_break_out_of_its_attribute() -> None:
    found = page.shell(
        Request({"type": "http", "method": "GET", "headers": []}), base='/worlds/"><script>', world="<b>&'"
    )
    assert b'data-base="/worlds/&quot;&gt;&lt;script&gt;" data-world="&lt;b&gt;&amp;&#x27;"' in found.body


def test_what_a_browser_has_is_not_sent_again(client: httpx.Client) -> None:
    first = client.get("/page/app.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    for sent in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get("/page/app.js", headers={"If-None-Match": sent})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), sent
    assert client.get("/page/app.js", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("sent", "compressed"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("*", True),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*;q=0, br", False),
        ("", False),
    ],
)
def test_a_file_is_compressed_for_who_takes_that(client: httpx.Client, sent: str, compressed: bool) -> None:
    with client.stream("GET", "/page/terms.js", headers={"Accept-Encoding": sent}) as answer:
        body = b"".join(answer.iter_raw())
    assert answer.headers["vary"] == "Accept-Encoding"
    assert (answer.headers.get("content-encoding") == "gzip") == compressed
    assert int(answer.headers["content-length"]) == len(body)
    assert (gzip.decompress(body) if compressed else body) == (FOLDER / "terms.js").read_bytes()


def test_head_has_no_body(client: httpx.Client) -> None:
    answer = client.head("/page/app.js")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page/none.js",
        "/page/../page.py",
        "/page/..%2Fpage.py",
        "/page/%2e%2e/page.py",
        "/page/vendor/../app.js",
        "/page//app.js",
        "/page/app.js%00",
        "/page/package.json",
        "/page/index.html",
        "/page/%2Fetc%2Fpasswd",
    ],
)
def test_no_path_leads_anywhere_else(server: Served, path: str) -> None:
    address = httpx.URL(server.url)
    # httpx would tidy the path up.
    with contextlib.closing(http.client.HTTPConnection(address.host, address.port, timeout=30)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
    assert answer.status == 404, path
    assert answer.headers["content-type"] == "application/problem+json"


# --- what they hold ---------------------------------------------------------------------------------------------------


def test_the_page_is_small() -> None:
    sizes = {name: path.stat().st_size for name, path in ((path.name, path) for path in FOLDER.glob("*.*"))}
    assert sum(sizes.values()) <= 380_000, sizes
    assert {name for name, text in SOURCES.items() if text.count("\n") >= 300} == set()


def test_no_data_can_become_markup_or_a_script() -> None:
    banned = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML"
        r"|\beval\b|new Function|srcdoc|\.href\s*=[^=]|setAttribute\(\"(?:style|on)"
    )
    for name, text in MODULES.items():
        assert not banned.search(text), f"{name}: {banned.search(text)}"


def test_nothing_comes_from_elsewhere() -> None:
    for name, text in SOURCES.items():
        found = set(re.findall(r"https?://[^\s\"'`)>…]+", text))
        assert {one for one in found if not one.startswith("https://example.org/")} <= NAMESPACES, name
    assert "style=" not in SOURCES["index.html"]
    assert not re.search(r"<script(?![^>]*\bsrc=)", SOURCES["index.html"])


def test_every_module_is_there_and_used() -> None:
    wanted = {
        name: set(re.findall(r"from \"\./([\w.]+)\"|import\(\"\./([\w.]+)\"\)", text)) for name, text in MODULES.items()
    }
    imported = {name: {one or other for one, other in found} for name, found in wanted.items()}
    assert set().union(*imported.values()) <= set(MODULES)
    shell = set(re.findall(r"/page/([\w.]+)", SOURCES["index.html"]))
    assert shell <= set(SOURCES)
    reached = {"theme.js", "app.js"}
    while more := set().union(*(imported[name] for name in reached)) - reached:
        reached |= more
    assert reached == set(MODULES)


def test_what_a_module_imports_is_exported_there_and_used() -> None:
    for name, text in MODULES.items():
        for names, other in re.findall(r"^import \{([^}]*)\} from \"\./([\w.]+)\";", text, re.M):
            rest = text.replace(f'{{{names}}} from "./{other}"', "")
            for one in filter(None, map(str.strip, names.split(","))):
                exported, _, own = one.partition(" as ")
                declared = rf"^export (?:async )?(?:function\*?|const|class) {exported}\b"
                assert re.search(declared, MODULES[other], re.M), (name, other, exported)
                assert re.search(rf"\b{own or exported}\b", rest), (name, own or exported)


def test_the_first_paint_fetches_its_modules_at_once() -> None:
    """What the first view imports is named in the shell, so that no module waits for another."""
    first = {"app.js"}
    while (
        more := {name for one in first for name in re.findall(r"^import .* from \"\./([\w.]+)\"", MODULES[one], re.M)}
        - first
    ):
        first |= more
    assert first <= set(re.findall(r"/page/([\w.]+)", SOURCES["index.html"]))


def test_the_lock_file_names_no_registry() -> None:
    text = (bundle.SOURCE / "package-lock.json").read_text("utf-8")
    lock, wanted = json.loads(text), json.loads((bundle.SOURCE / "package.json").read_text("utf-8"))
    assert lock["packages"][""]["dependencies"] == wanted["dependencies"]
    assert lock["packages"][""]["devDependencies"] == wanted["devDependencies"]
    assert all(re.fullmatch(r"[\d.]+", version) for version in wanted["dependencies"].values())
    for name, told in lock["packages"].items():
        assert "resolved" not in told, name
        assert name == "" or told["integrity"].startswith("sha512-"), name
    assert not re.search(r"registry|localhost|127\.0\.0\.1", text)


# --- the editor -------------------------------------------------------------------------------------------------------


def test_without_node_there_is_no_editor_and_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seams.without_node(monkeypatch, tmp_path)
    vendor = tmp_path / "vendor"
    with pytest.raises(bundle.BundleError, match="there is no Node.js"):
        bundle.bundle(vendor)
    assert "there is no Node.js" in (vendor / bundle.MISSING).read_text("utf-8")
    # An editor that is there stays.
    (vendor / bundle.FILE).write_text("// an editor")
    (vendor / bundle.MISSING).unlink()
    with pytest.raises(bundle.BundleError):
        bundle.bundle(vendor)
    assert [path.name for path in vendor.iterdir()] == [bundle.FILE]


@pytest.mark.slow
def test_the_editor_is_built_of_what_the_lock_file_pins(tmp_path: Path) -> None:
    if bundle.node() is None:
        pytest.skip("Node.js is not installed")
    try:
        vendor = bundle.bundle(tmp_path / "vendor", offline=True)
    except bundle.BundleError as error:
        pytest.skip(f"npm's cache lacks the editor: run python -m worlds.doors.server.bundle once ({str(error)[:60]}…)")
    assert {path.name for path in vendor.iterdir()} == {bundle.FILE, bundle.LAND, bundle.LICENSES}
    text = (vendor / bundle.FILE).read_text("utf-8")
    assert "sourceMappingURL" not in text
    assert "makeCode" in text
    assert len(text) < 500_000
    told = (vendor / bundle.LICENSES).read_text("utf-8")
    assert "@codemirror/view" in told
    assert "esbuild" not in told


@pytest.mark.slow
def test_a_wheel_has_the_page_and_the_editor_that_was_fetched(tmp_path: Path) -> None:
    copy = tmp_path / "clone"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("worlds", "graph", "sql"):
        ignored = shutil.ignore_patterns("__pycache__", "vendor", "node_modules")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    vendor = copy / "worlds" / "doors" / "server" / "page" / "vendor"
    vendor.mkdir()
    (vendor / bundle.FILE).write_text("// an editor")
    built = subprocess.run(
        [sys.executable, "-c", "from setuptools.build_meta import build_wheel; print(build_wheel('.'))"],
        cwd=copy,
        env={"PATH": str(tmp_path)},  # without Node
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "the web page gets the plain query editor: there is no Node.js" in built.stdout + built.stderr
    with zipfile.ZipFile(copy / built.stdout.split()[-1]) as archive:
        names = set(archive.namelist())
    expected = {f"worlds/doors/server/page/{name}" for name in SOURCES}
    assert (
        expected | {f"worlds/doors/server/page/vendor/{bundle.FILE}", "worlds/doors/server/editor/package-lock.json"}
        <= names
    )
