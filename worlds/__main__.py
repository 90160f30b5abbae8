"""`python -m worlds`: the command line."""

from worlds.doors.cli import main

main()
