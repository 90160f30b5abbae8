"""The commands about worlds on servers: primary, token, push, pull, follow."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from worlds.cli.options import Command, Json, WorldPath, examples
from worlds.cli.terminal import note, output, waiting, write_json

Url = Annotated[
    str, typer.Argument(metavar="URL", help="The world on the server: http://HOST:PORT/NAME.", show_default=False)
]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the primary keeps its worlds.")]
Token = Annotated[
    str | None,
    typer.Option(metavar="TOKEN", help="What the server asks for.", envvar="WORLDS_PRIMARY_TOKEN", show_default=False),
]


def primary(
    folder: Folder,
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port; 0 takes a free one.", min=0, max=65535)] = 8080,
    sqld: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="libSQL's server.", envvar="WORLDS_SQLD", show_default="sqld on the PATH"),
    ] = None,
    backup: Annotated[
        str | None,
        typer.Option(metavar="BUCKET", help="A bucket of S3 that gets all that is written.", show_default=False),
    ] = None,
    backup_endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of a service that is not Amazon's.", show_default=False),
    ] = None,
    restore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A world to bring back from the bucket; may be repeated.", show_default=False
        ),
    ] = None,
) -> None:
    """Serve worlds to replicas: runs libSQL's server with settings that were tried, and starts it again if it ends.

    Replicas need a token each (`worlds token`); pushing needs the key in FOLDER/keys/admin. The keys of a bucket are
    those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, its region that of AWS_DEFAULT_REGION.
    """
    from worlds.remote.primary import Primary, backup_to

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    bucket = None if backup is None else backup_to(backup, backup_endpoint)
    with Primary(folder, host=host, port=port, sqld=sqld, backup=bucket) as server:
        for name in restore or ():
            server.restore(name)
        names = ", ".join(server.names()) or "no worlds yet"
        output().print(f"Primary at {server.address}: {names}", soft_wrap=True)
        if host not in ("127.0.0.1", "::1", "localhost"):
            note("tokens travel as they are: put a proxy with TLS before it")
        server.wait()


def token(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The world that it is for.")],
    read_only: Annotated[bool, typer.Option("--read-only", help="For replicas that do not write.")] = False,
    days: Annotated[float | None, typer.Option(metavar="DAYS", help="How long it is good.", min=0)] = None,
) -> None:
    """Print a token for one world of a primary. None can be taken back, so let it expire."""
    from worlds.remote.keys import Keys

    output().print(Keys(folder / "keys").token(name, read_only=read_only, days=days), soft_wrap=True)


def push(
    path: WorldPath,
    url: Url,
    replace: Annotated[bool, typer.Option("--replace", help="In the place of the one that is there.")] = False,
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The primary's own.", envvar="WORLDS_PRIMARY_KEY", show_default=False),
    ] = None,
) -> None:
    """Make the world in a file one on a server, by the primary's own key (FOLDER/keys/admin)."""
    from worlds.remote.pushing import push as run

    with waiting("pushing"):
        run(path, url, key=key, replace=replace)
    output().print(f"{path} is at {url}", soft_wrap=True)


def pull(
    url: Url,
    path: Annotated[str, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    token: Token = None,
) -> None:
    """Copy a world on a server into a file of its own."""
    from worlds.remote.pushing import pull as run

    with waiting("pulling"):
        run(url, path, token=token)
    output().print(f"{url} is in {path}", soft_wrap=True)


def follow(
    url: Url,
    replica: Annotated[Path, typer.Argument(metavar="REPLICA", help="Where the replica lies.")],
    token: Token = None,
    poll: Annotated[float, typer.Option(metavar="SECONDS", help="How often the primary is asked.", min=0.01)] = 0.1,
) -> None:
    """Keep a replica in step with a world on a server, until it is stopped.

    Others read the replica as any world (read-only), or open the URL with `replica`, which writes to the server.
    Opening a URL starts a follower by itself; this one goes on while nobody has the replica open.
    """
    from worlds.remote.follower import follow as run

    def tell(error: str | None) -> None:
        if error is None:
            output().print(f"{replica} follows {url}", soft_wrap=True)
        else:
            note(f"{error}; trying again")

    run(url, replica.absolute(), token, poll=poll, tell=tell)


def replica(
    path: Annotated[Path, typer.Argument(metavar="REPLICA", help="Where the replica lies.")], json: Json = False
) -> None:
    """Tell how a replica stands to its primary. Exits with 1 if its follower has an error, or is gone."""
    from worlds.cli.errors import NO
    from worlds.errors import OpenError
    from worlds.remote.status import Folder as ReplicaFolder

    folder = ReplicaFolder(path.absolute())
    told = folder.told()
    if told is None:
        raise OpenError(f"{path} is no replica")
    running = folder.followed()
    if json:
        write_json({**vars(told), "followed": running})
    else:
        output().print(f"{path}: revision {told.revision} of {told.address}, {told.age:.1f} s old", soft_wrap=True)
        for remark in (told.error, None if running else "nobody follows it"):
            if remark:
                note(remark)
    if told.error or not running:
        raise typer.Exit(NO)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=Command, epilog=examples("worlds primary /srv/worlds --host 0.0.0.0 --port 8080"))(primary)
    app.command(cls=Command, epilog=examples("worlds token /srv/worlds kb --read-only --days 90"))(token)
    app.command(
        cls=Command, epilog=examples("worlds push kb.db http://10.0.0.5:8080/kb --key $(cat /srv/worlds/keys/admin)")
    )(push)
    app.command(cls=Command, epilog=examples("worlds pull http://10.0.0.5:8080/kb copy.db"))(pull)
    app.command(cls=Command, epilog=examples("worlds follow http://10.0.0.5:8080/kb kb-replica.db"))(follow)
    app.command(cls=Command, epilog=examples("worlds replica kb-replica.db --json"))(replica)
