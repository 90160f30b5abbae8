"""`python -m worlds`: the command line."""

from worlds.cli import main

main()
