from __future__ import annotations

import json
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from worlds.doors.server.keys import KeyStore, expiry, keys_of
from worlds.errors import OpenError


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "keys.json")


def test_a_key_is_found_by_its_text_and_by_nothing_else(store: KeyStore) -> None:
    key, text = store.add("ann", {"*": "read"})
    other, _ = store.add("bob", {"*": "read"})
    assert store.find(text) == key
    assert store.find(text[:-1] + ("a" if text[-1] != "a" else "b")) is None
    assert store.find(text.replace(key.id, other.id)) is None
    assert store.find(text.replace(key.id, "00000000")) is None
    for strange in ("", "wk_", text + "\n", text.upper(), f"wk_{key.id}_{'é' * 43}", "\0"):
        assert store.find(strange) is None


def test_the_file_does_not_hold_the_secret_and_is_the_owners_alone(store: KeyStore) -> None:
    key, text = store.add("ann", {"kb": "write"}, expires=datetime.now(UTC) + timedelta(days=1))
    written = store.path.read_text()
    assert text not in written
    assert text.rpartition("_")[2] not in written
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert "hash" not in key.to_dict()


def test_secrets_have_256_bits_and_never_repeat(store: KeyStore) -> None:
    texts = {store.add(f"key {number}", {"*": "read"})[1] for number in range(20)}
    assert len(texts) == 20
    assert all(len(text.rpartition("_")[2]) == 43 for text in texts)  # 43 characters of 6 bits


def test_another_store_sees_what_changed(store: KeyStore) -> None:
    server = KeyStore(store.path)
    assert server.all() == []
    _, text = store.add("ann", {"*": "read"})
    assert server.find(text) is not None
    store.revoke("ann")
    found = server.find(text)
    assert found is not None
    assert found.state() == "revoked"


def test_a_key_expires(store: KeyStore) -> None:
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    key, _ = store.add("ann", {"*": "read"}, expires=soon)
    assert key.state() == "valid"
    assert key.state(soon - timedelta(seconds=1)) == "valid"
    assert key.state(soon) == "expired"
    assert KeyStore(store.path).all() == [key]


def test_revoking_by_name_and_by_id(store: KeyStore) -> None:
    key, _ = store.add("ann", {"*": "read"})
    assert [each.id for each in store.revoke(key.id)] == [key.id]
    assert store.revoke("ann") == []
    again, _ = store.add("ann", {"*": "read"})
    assert [each.id for each in store.revoke("ann")] == [again.id]
    with pytest.raises(ValueError, match=r"no key 'bob'; known: ann"):
        store.revoke("bob")


@pytest.mark.parametrize("name", ["", " ann", "ann\n", "a\tb", "x" * 101, "\x00", "ann\u202e", "a\u200bnn", "a\u2028b"])
def test_names_that_a_log_or_a_history_could_not_take_are_refused(store: KeyStore, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        store.add(name, {"*": "read"})
    assert not store.path.exists()


def test_two_valid_keys_cannot_have_one_name(store: KeyStore) -> None:
    store.add("ann", {"*": "read"})
    with pytest.raises(ValueError, match="already"):
        store.add("ann", {"*": "write"})


@pytest.mark.parametrize("levels", [{}, {"*": "all"}, {"../kb": "read"}, {"": "read"}, {"*": ""}])
def test_levels_that_mean_nothing_are_refused(store: KeyStore, levels: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"level|world"):
        store.add("ann", levels)


def test_keys_added_at_the_same_time_are_all_kept(store: KeyStore) -> None:
    threads = [
        threading.Thread(target=lambda number=number: KeyStore(store.path).add(f"key {number}", {"*": "read"}))
        for number in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.name for key in store.all()} == {f"key {number}" for number in range(12)}
    assert sorted(path.name for path in store.path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"keys": [{}]}', '{"keys": 1}', "\udcff"])
def test_a_file_of_something_else_is_an_error_and_not_no_keys(store: KeyStore, content: str) -> None:
    store.path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(OpenError, match="not a file of API keys"):
        store.find("wk_00000000_" + "a" * 43)
    with pytest.raises(OpenError, match="not a file of API keys"):
        store.add("ann", {"*": "read"})
    assert store.path.read_bytes() == content.encode("utf-8", "surrogateescape")


def test_an_unknown_level_in_the_file_is_an_error(store: KeyStore) -> None:
    store.add("ann", {"*": "read"})
    store.path.write_text(store.path.read_text().replace('"read"', '"root"'))
    with pytest.raises(OpenError, match="unknown level"):
        store.all()


def test_a_failed_write_leaves_the_file_as_it_was(store: KeyStore) -> None:
    store.add("ann", {"*": "read"})
    before = store.path.read_bytes()
    with pytest.raises(ValueError, match="expired already"):
        store.add("bob", {"*": "read"}, expires=datetime(2020, 1, 1, tzinfo=UTC))
    assert store.path.read_bytes() == before
    assert json.loads(before)["keys"][0]["name"] == "ann"


def test_expiry() -> None:
    assert expiry("never") is None
    for text, seconds in {"90d": 7_776_000, "12h": 43_200, "30s": 30, "2w": 1_209_600, "1y": 31_536_000}.items():
        found = expiry(text)
        assert found is not None
        assert abs((found - datetime.now(UTC)).total_seconds() - seconds) < 5
    assert expiry("2030-01-31") == datetime(2030, 1, 31, tzinfo=UTC)
    assert expiry("2030-01-31T12:00:00+02:00") == datetime(2030, 1, 31, 10, tzinfo=UTC)
    for strange in ("", "0d", "90", "d", "-1d", "90 d", "soon", "2030-13-01", "999999y"):
        with pytest.raises(ValueError, match=r"not a time|too far"):
            expiry(strange)


def test_where_the_keys_lie(tmp_path: Path) -> None:
    assert keys_of(tmp_path).path == tmp_path / "worlds.keys.json"
    assert keys_of(tmp_path / "kb.db").path == tmp_path / "kb.db.keys.json"


def test_times_without_a_zone_are_in_utc(store: KeyStore) -> None:
    key, text = store.add("ann", {"*": "read"}, expires=datetime.now(UTC) + timedelta(days=1))
    document = json.loads(store.path.read_text())
    assert key.expires is not None
    document["keys"][0]["expires"] = key.expires.replace(tzinfo=None).isoformat()
    store.path.write_text(json.dumps(document))
    found = KeyStore(store.path).find(text)
    assert found is not None
    assert found.expires == key.expires
    assert found.state() == "valid"


def test_a_file_that_is_nested_too_deeply_is_no_file_of_keys(store: KeyStore) -> None:
    store.path.write_text('{"keys": ' + "[" * 100_000)
    with pytest.raises(OpenError, match="not a file of API keys"):
        store.all()


def test_a_file_behind_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link, real = tmp_path / "keys.json", tmp_path / "real" / "keys.json"
    link.symlink_to(real)
    key, _ = KeyStore(link).add("ann", {"*": "read"})
    assert link.is_symlink()
    assert KeyStore(real).all() == KeyStore(link).all() == [key]
    assert not link.with_name("keys.json.lock").exists()
