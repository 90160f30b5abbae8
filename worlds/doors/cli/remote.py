"""The commands about worlds on servers: primary, token, push, pull, follow, replica."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from worlds.doors.cli.command import command
from worlds.doors.cli.options import PATH, given
from worlds.doors.cli.terminal import note, print_text, waiting

_URL = given("URL", "The world on the server: http://HOST:PORT/NAME.")
_FOLDER = given("FOLDER", "The folder of the primary's worlds.", Path)
_TOKEN = given("--token TOKEN", "The token of the server.", envvar="WORLDS_PRIMARY_TOKEN", show_default=False)
_REPLICA = given("REPLICA", "The file of the replica.", Path)


@command(
    "remote.primary",
    _FOLDER,
    given("--host HOST", "The address to listen at.", default="127.0.0.1"),
    given("--port N", "The port; 0 takes a free one.", int, 8080, min=0, max=65535),
    given("--sqld FILE", "libSQL's server.", envvar="WORLDS_SQLD", show_default="sqld on the PATH"),
    given("--backup BUCKET", "The S3 bucket for a backup of all writes.", show_default=False),
    given("--backup-endpoint URL", "The S3 endpoint of a service other than Amazon's.", show_default=False),
    given("--restore NAME...", "A world to bring back from the bucket; may be repeated.", show_default=False),
    json=False,
)
def primary(asked: Any) -> None:
    """Serve worlds to replicas: runs libSQL's server with settings that were tried, and starts it again if it ends.

    Replicas need a token each (`worlds remote token`); pushing needs the key in FOLDER/keys/admin. The keys of a bucket
    are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, its region that of AWS_DEFAULT_REGION.

    $ worlds remote primary /srv/worlds --host 0.0.0.0 --port 8080
    """
    from worlds.extras.remote.primary import Primary, backup_to

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    bucket = None if asked.backup is None else backup_to(asked.backup, asked.backup_endpoint)
    with Primary(asked.folder, host=asked.host, port=asked.port, sqld=asked.sqld, backup=bucket) as server:
        for name in asked.restore or ():
            server.restore(name)
        names = ", ".join(server.names()) or "no worlds yet"
        print_text(f"Primary at {server.address}: {names}")
        if asked.host not in ("127.0.0.1", "::1", "localhost"):
            note("tokens are sent unencrypted: put a proxy with TLS before it")
        server.wait()


@command(
    "remote.token",
    _FOLDER,
    given("NAME", "The world that it is for."),
    given("--read-only", "Make a token for replicas that only read."),
    given("--days DAYS", "The time until the token expires.", float, min=0),
    json=False,
)
def token(folder: Path, name: str, *, read_only: bool, days: float | None) -> str:
    """Print a token for one world of a primary. None can be taken back, so let it expire.

    $ worlds remote token /srv/worlds kb --read-only --days 90
    """
    from worlds.extras.remote.primary import Keys

    return Keys(folder / "keys").token(name, read_only=read_only, days=days)


@command(
    "remote.push",
    *(PATH, _URL),
    given("--replace", "Overwrite the remote world."),
    given("--key KEY", "The primary's own.", envvar="WORLDS_PRIMARY_KEY", show_default=False),
    json=False,
)
def push(path: str, url: str, *, replace: bool, key: str | None) -> str:
    """Make the world in a file one on a server, by the primary's own key (FOLDER/keys/admin).

    $ worlds remote push kb.db http://10.0.0.5:8080/kb --key $(cat /srv/worlds/keys/admin)
    """
    from worlds.extras.remote.file_transfer import push as run

    with waiting("pushing"):
        run(path, url, key=key, replace=replace)
    return f"{path} is at {url}"


@command("remote.pull", _URL, given("FILE", "The new file.", name="path"), _TOKEN, json=False)
def pull(url: str, path: str, *, token: str | None) -> str:
    """Copy a world on a server into a file of its own.

    $ worlds remote pull http://10.0.0.5:8080/kb copy.db
    """
    from worlds.extras.remote.file_transfer import pull as run

    with waiting("pulling"):
        run(url, path, token=token)
    return f"{url} is in {path}"


@command(
    "remote.follow",
    *(_URL, _REPLICA, _TOKEN),
    given("--poll SECONDS", "How often the primary is asked.", float, 0.1, min=0.01),
    json=False,
)
def follow(url: str, replica: Path, *, token: str | None, poll: float) -> None:
    """Keep a replica in step with a world on a server, until it is stopped.

    Others read the replica as any world (read-only), or open the URL with `replica`, which writes to the server.
    Opening a URL starts a follower by itself; this one goes on while nobody has the replica open.

    $ worlds remote follow http://10.0.0.5:8080/kb kb-replica.db
    """
    from worlds.extras.remote.follower import follow as run

    def tell(error: str | None) -> None:
        if error is None:
            print_text(f"{replica} follows {url}")
        else:
            note(f"{error}; trying again")

    run(url, replica.absolute(), token, poll=poll, tell=tell)


@command("remote.replica", _REPLICA, fails=lambda told: bool(told["error"] or not told["followed"]))
def replicated(replica: Path, *, json: bool) -> dict[str, Any]:
    """Show the state of a replica and its follower. Exits with 1 if the follower has an error, or is gone.

    $ worlds remote replica kb-replica.db --json
    """
    from worlds.errors import OpenError
    from worlds.extras.remote.status import Folder as ReplicaFolder

    folder = ReplicaFolder(replica.absolute())
    told = folder.told()
    if told is None:
        raise OpenError(f"{replica} is not a replica")
    running = folder.followed()
    for remark in () if json else (told.error, None if running else "nobody follows it"):
        if remark:
            note(remark)
    return {**vars(told), "followed": running}
