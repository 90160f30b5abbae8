"""No door takes another option than it did, unless that is wanted."""

from __future__ import annotations

from tests.support.surface import KEPT, surface


def test_every_door_takes_what_is_kept() -> None:
    kept, now = KEPT.read_text().splitlines(), surface().splitlines()
    gone, new = sorted(set(kept) - set(now)), sorted(set(now) - set(kept))
    assert (gone, new) == ([], []), "python -m tests.support.surface writes it anew, where this is wanted"
    assert len(now) > 500
