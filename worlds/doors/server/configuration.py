"""The settings of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from worlds.doors.server.listening import is_loopback
from worlds.settings import SETTINGS, Settings, search_defaults


class ServerSettings:
    """The settings below `server.`, and three without a section.

    `worlds.settings` says what each means, and gives the defaults of those that are not `given`.
    """

    host: str
    port: int
    readers: int
    most_workers: int
    timeout: float
    max_body: int
    max_results: int
    max_queries: int
    max_memory: int
    max_proposals: int
    guest_share: float
    rate: float
    cors: tuple[str, ...]
    keys: str | None
    public_reads: bool | None
    allow_writes: bool
    hosts: tuple[str, ...]
    graphs: tuple[str, ...]
    allow_network: tuple[str, ...]
    default_graph: Literal["strict", "union"] | None
    log: Literal["text", "json"]
    grace: float
    embedder: str | None
    durability: Literal["normal", "full"]
    sparql_index: Literal["auto", "memory", "disk"]

    def __init__(self, settings: Mapping[str, Any] | None = None, **given: Any) -> None:
        known = Settings({}) if settings is None else settings
        self.search: dict[str, Any] = given.pop("search", None) or search_defaults(known)
        for name in self.__annotations__:
            own = f"server.{name}"
            setting = own if own in SETTINGS else name
            setattr(self, name, given.pop(name, known[setting]))
        if given:
            raise TypeError(f"these are not settings of the server: {', '.join(given)}")
        if self.embedder == "none":
            self.embedder = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)
