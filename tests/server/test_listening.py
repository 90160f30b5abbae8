from __future__ import annotations

import socket
from typing import Any

import pytest

from worlds.doors.server.listening import is_loopback, listen, url
from worlds.errors import OpenError


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.9.9.9",
        "127.255.255.255",
        "::1",
        "[::1]",
        "0:0:0:0:0:0:0:1",
        "::1%lo",
        "[::1%lo]",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "localhost",
        "LOCALHOST",
        "localhost.",
    ],
)
def test_only_this_machine_reaches(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "0.0.0.0",
        "::",
        "[::]",
        "10.0.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "::2",
        "fe80::1%lo",
        "::ffff:0.0.0.0",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        # What a resolver may read otherwise than we do:
        "127.1",
        "0x7f.1",
        "2130706433",
        "017700000001",
        "0127.0.0.1",
        "127.0.0.1.",
        "127.0.0.1%lo",
        "١٢٧.0.0.1",
        "127。0。0。1",
        # Names of others:
        "example.org",
        "localhost.example.org",
        "evil.localhost",
        "localhost..",
        "localhost.localdomain",
        "ⓛocalhost",
        "localhoſt",
        # What is no host at all:
        "[127.0.0.1",
        "[[::1]]",
        "[localhost]",
        "127.0.0.1@10.0.0.1",
        "localhost@example.org",
        "ann:key@localhost",
        "127.0.0.1:80",
        "[::1]:80",
        "localhost:80",
        "localhost/",
        "localhost#",
        " 127.0.0.1",
        "127.0.0.1\n",
        "localhost\0.example.org",
    ],
)
def test_others_may_reach(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_free_port_is_taken(host: str) -> None:
    with listen(host, 0) as listening:
        assert url(host, listening) == f"http://{host}:{listening.getsockname()[1]}"
        with socket.create_connection(listening.getsockname()):
            pass
        with pytest.raises(OpenError, match=r"cannot be listened on.*--port 0 takes a free port"):
            listen(host, listening.getsockname()[1])


def test_an_ipv6_address_has_brackets_in_its_url() -> None:
    try:
        listening = listen("::1", 0)
    except OpenError:
        pytest.skip("this machine has no IPv6")
    with listening:
        assert url("::1", listening).startswith("http://[::1]:")


def test_a_resolver_that_takes_localhost_for_another_address_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:  # as an entry in /etc/hosts would
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("0.0.0.0", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(OpenError, match="which other machines can reach"):
        listen("localhost", 0)
