"""Ways to a world from outside: the command line, HTTP, tools for agents. They know the face alone."""

from __future__ import annotations


def version(package: str = "worlds-kg") -> str | None:
    """The version of a package that is installed; None for one that is not, or is run from a source tree."""
    from importlib import metadata  # which takes a while

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
