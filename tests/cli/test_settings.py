"""The settings: every kind of value, every place that one can come from, and what a wrong one says."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from worlds.doors.cli.config import template
from worlds.errors import OpenError
from worlds.settings import SETTINGS, load_settings, unknown_variables, user_file

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without any settings."""
    for name in [name for name in os.environ if name.startswith("WORLDS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


# --- where a value comes from -----------------------------------------------------------------------------------------


def test_a_setting_that_nobody_gave_has_its_default() -> None:
    settings = load_settings()
    assert len(settings) == len(SETTINGS) == len(dict(settings))
    for name, setting in SETTINGS.items():
        assert settings[name] == setting.default
        assert settings.source(name) == "default"
        assert setting.default is None or setting.check(setting.default) == setting.default
    assert settings.files == ()


def test_each_place_is_weaker_than_the_one_before_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(**overrides: object) -> tuple[Any, str]:
        settings = load_settings({f"server.{name}": value for name, value in overrides.items()})
        return settings["server.port"], settings.source("server.port")

    assert found() == (8080, "default")
    users = write(user_file(), "[server]\nport = 1\n")
    assert found() == (1, str(users))
    here = write(folder / "worlds.toml", "[server]\nport = 2\n")
    assert found() == (2, str(here))
    other = write(folder / "other" / "some.toml", "[server]\nport = 3\n")
    monkeypatch.setenv("WORLDS_CONFIG", str(other))
    assert found() == (3, str(other))
    monkeypatch.setenv("WORLDS_SERVER_PORT", "4")
    assert found() == (4, "WORLDS_SERVER_PORT")
    assert found(port=5) == (5, "command line")
    assert found(port=None) == (4, "WORLDS_SERVER_PORT")


def test_files_are_joined_key_by_key(folder: Path) -> None:
    write(user_file(), 'embedder = "none"\n[server]\nport = 1\nrate = 60\n')
    write(folder / "worlds.toml", "[server]\nport = 2\n")
    settings = load_settings()
    assert (settings["embedder"], settings["server.port"], settings["server.rate"]) == ("none", 2, 60)
    assert settings.files == (folder / "worlds.toml", user_file())


def test_a_named_file_takes_the_place_of_the_one_here_not_of_the_users(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(user_file(), "[server]\nrate = 60\n")
    write(folder / "worlds.toml", "[server]\nport = 2\n")
    monkeypatch.setenv("WORLDS_CONFIG", str(write(folder / "empty.toml", "")))
    settings = load_settings()
    assert (settings["server.port"], settings["server.rate"]) == (8080, 60)


def test_the_users_folder_is_absolute_or_the_usual_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CONFIG_HOME", value)
        assert user_file() == tmp_path / ".config" / "worlds" / "worlds.toml"


def test_a_user_without_a_home_has_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert load_settings().source("server.port") == "default"


def test_an_empty_variable_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDS_SERVER_PORT", "")
    monkeypatch.setenv("WORLDS_CONFIG", "")
    assert load_settings().source("server.port") == "default"


def test_a_section_without_its_name() -> None:
    section = load_settings({"mcp.port": 7}).section("mcp")
    assert section == {
        "allow_writes": False,
        "allow_proposals": False,
        "host": "127.0.0.1",
        "port": 7,
        "graphs": (),
        "token_budget": 4000,
        "memory": "agent",
        "tools": "all",
    }


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("WORLDS_EMBEDDER", "none", "none"),
        ("WORLDS_SERVER_PORT", "0", 0),
        ("WORLDS_SERVER_TIMEOUT", "2.5", 2.5),
        ("WORLDS_SERVER_TIMEOUT", "2", 2.0),
        ("WORLDS_SERVER_ALLOW_WRITES", "True", True),
        ("WORLDS_SERVER_PUBLIC_READS", "off", False),
        ("WORLDS_SERVER_CORS", "https://a.example, https://b.example,", ("https://a.example", "https://b.example")),
        ("WORLDS_SERVER_KEYS", "keys.db", "keys.db"),
        ("WORLDS_SERVER_LOG", "json", "json"),
    ],
)
def test_a_variable_is_read_as_its_kind(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, value: object
) -> None:
    monkeypatch.setenv(variable, text)
    (name,) = (setting.name for setting in SETTINGS.values() if setting.variable == variable)
    found = load_settings()[name]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("WORLDS_SERVER_PORT", "http", "'http' is not a whole number from 0 to 65535"),
        ("WORLDS_SERVER_PORT", "65536", "65536 is not a whole number from 0 to 65535"),
        ("WORLDS_SERVER_TIMEOUT", "nan", "nan is not a number"),
        ("WORLDS_SERVER_PORT", "٨٠٨٠", "'٨٠٨٠' is not a whole number"),
        ("WORLDS_SERVER_PORT", "8_080", "'8_080' is not a whole number"),
        ("WORLDS_SERVER_RATE", "9" * 10, "9999999999 is not a whole number from 0 to 2147483647"),
        ("WORLDS_SERVER_MAX_RESULTS", "9" * 5000, "'9999"),
        ("WORLDS_SERVER_MAX_BODY", str(2**53 + 1), "9007199254740993 is not a whole number from 1"),
        ("WORLDS_SERVER_RATE", "-1", "-1 is not a whole number from 0 to 2147483647"),
        ("WORLDS_SERVER_ALLOW_WRITES", "perhaps", "'perhaps' is not true or false"),
        ("WORLDS_SERVER_LOG", "xml", "'xml' is not one of 'text', 'json'"),
    ],
)
def test_a_variable_with_a_wrong_value_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, said: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError, match=f"^{variable}: {re.escape(said)}"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nprot = 1", "server.prot: there is no setting 'server.prot': did you mean server.port?"),
        ("port = 1", "port: there is no setting 'port': did you mean server.port?"),
        ("colour = 1", "colour: there is no setting 'colour'; `worlds config` lists them"),
        ("server = 1", "server is a section: write [server] above its settings"),
        ('[server]\nport = "1"', "server.port: '1' is not a whole number"),
        ("[server]\nport = true", "server.port: True is not a whole number"),
        ("[server]\nallow_writes = 1", "server.allow_writes: 1 is not true or false"),
        ('[server]\ncors = "*"', "server.cors: '*' is not a list of texts"),
        ("[server]\ncors = [1]", "server.cors: [1] is not a list of texts"),
        ("[server.port]\nx = 1", "server.port: {'x': 1} is not a whole number"),
        ("embedder = ", "not TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_named(folder: Path, text: str, said: str) -> None:
    file = write(folder / "worlds.toml", text)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{file}: {said}')}"):
        load_settings()


def test_a_file_that_is_not_utf8(folder: Path) -> None:
    (folder / "worlds.toml").write_bytes(b'author = "\xe9"')
    with pytest.raises(ValueError, match=r"worlds\.toml: not UTF-8"):
        load_settings()


def test_a_file_that_is_named_and_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDS_CONFIG", "nowhere.toml")
    with pytest.raises(OpenError, match=r"WORLDS_CONFIG names nowhere\.toml"):
        load_settings()
    monkeypatch.setenv("WORLDS_CONFIG", str(folder))
    with pytest.raises(OpenError, match="cannot be read"):
        load_settings()


def test_overrides_are_checked_too() -> None:
    with pytest.raises(ValueError, match="^server.port: 70000 is not"):
        load_settings({"server.port": 70000})
    with pytest.raises(ValueError, match="no setting 'nonsense'"):
        load_settings({"nonsense": 1})
    assert load_settings({"server.keys": Path("k.db"), "server.timeout": 3})["server.timeout"] == 3.0


def test_a_path_in_a_file_is_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(user_file(), '[server]\nkeys = "keys.db"\n')
    assert load_settings()["server.keys"] == str(user_file().parent / "keys.db")
    monkeypatch.setenv("HOME", str(folder))
    write(user_file(), '[server]\nkeys = "~/keys.db"\n')
    assert load_settings()["server.keys"] == str(folder / "keys.db")


def test_unknown_names_are_errors() -> None:
    settings = load_settings()
    for ask in (settings.__getitem__, settings.source):
        with pytest.raises(ValueError, match="no setting 'server.prot'"):
            ask("server.prot")


def test_variables_that_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDS_SERVER_PROT", "1")
    monkeypatch.setenv("WORLDS_CACHE", "/somewhere")
    monkeypatch.setenv("WORLDS_AUTHOR", "ann")
    assert unknown_variables() == ["WORLDS_SERVER_PROT"]


# --- the template, and the document -----------------------------------------------------------------------------------


def test_the_template_changes_nothing_and_has_every_setting(folder: Path) -> None:
    assert tomllib.loads(template()) == {
        section: {} for section in {name.split(".")[0] for name in SETTINGS if "." in name}
    }
    write(folder / "worlds.toml", re.sub(r"(?m)^# (\w+ = )", r"\1", template()))
    settings = load_settings()
    for name, setting in SETTINGS.items():
        assert settings.source(name) == str(folder / "worlds.toml")
        if setting.default is not None:
            assert settings[name] == setting.default


def test_every_setting_is_documented() -> None:
    rows = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("| `")]
    expected = []
    for setting in SETTINGS.values():
        default = f"`{json.dumps(setting.default)}`" if setting.kind != "text" else f"`{setting.default}`"
        cells = (f"`{setting.name}`", f"`{setting.variable}`", setting.meaning or default, setting.help)
        expected.append(f"| {' | '.join(cells)} |")
    assert rows == expected, "docs/settings.md has one row for each setting, in this form"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('embedder = "a\\u0000b"', "embedder"),
        ('[server]\nkeys = "a\\u0000b"', "server.keys"),
        ('[server]\ncors = ["a\\u0000b"]', "server.cors"),
    ],
)
def test_no_text_has_u_0000(folder: Path, text: str, key: str) -> None:
    path = write(folder / "worlds.toml", text)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: {re.escape(key)}: .*U\\+0000"):
        load_settings()
