"""The verb that compares what is found with what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from worlds.errors import ArgumentError
from worlds.verbs.auditing import Auditing
from worlds.verbs.curating import Curating
from worlds.verbs.knowing import Knowing

if TYPE_CHECKING:
    from worlds.curation.findings.evaluating import Evaluation

_LEAST = 0.05  # probability of what is compared
_MOST = 1_000_000  # pairs, and links


class Evaluating(Auditing, Curating, Knowing):
    """The verb that compares what is found with what is known."""

    def evaluate(
        self,
        truth: object = None,
        *,
        of: Literal["duplicates", "links", "resolve", "mentions"] = "duplicates",
        types: object = None,
        between: tuple[object, object] | None = None,
    ) -> Evaluation:
        """How well `duplicates`, `suggest_links`, `resolve` or `mentions` agree with a truth, by probability.

        `truth` is a table, the path of a CSV or TSV file or rows: two entities that are one (duplicates); subject,
        predicate and object of a link; a name and its entity, none for a name that means nothing here, and maybe the
        text around it (resolve); a text and an entity that it names (mentions). Where a row ends with a judgement (yes,
        no, 1, 0), only pairs that were judged count; otherwise all that the table does not have is wrong. Without a
        truth the decided proposals of the kind count, by the probability with which they were proposed. `types` and
        `between` narrow as in `duplicates`. Nothing is written. ArgumentError where there is nothing to compare with.
        """
        from worlds.curation.findings.evaluating import evaluated, truths

        if of not in ("duplicates", "links", "resolve", "mentions"):
            raise ArgumentError(f"of is duplicates, links, resolve or mentions, not {of!r}")
        if truth is None:
            if of not in ("duplicates", "links"):
                raise ArgumentError(f"nobody decides what {of!r} finds: give a truth")
            chances, right = self._decided("duplicate" if of == "duplicates" else "link")
            if not chances:
                raise ArgumentError("there are no decided proposals with a probability: give a truth")
            return evaluated(of, chances, right, 0)
        columns = 3 if of == "links" else 2
        rows = truths(truth, columns, 1 if of == "resolve" else 0)
        if of == "resolve":
            return self._of_names(rows, types)
        known = {self._key(of, values): judgement is not False for values, judgement in rows}
        found: list[tuple[Any, float]]
        if of == "duplicates":
            pairs = self.duplicates(types=types, between=between, probability=_LEAST, limit=_MOST)
            found = [(frozenset(map(str, one.subjects)), one.score) for one in pairs]
        elif of == "links":
            links = self.suggest_links(types=types, minimum=_LEAST, limit=_MOST)
            found = [(tuple(map(str, one.add[0][:3])), one.score) for one in links if one.add]
        else:
            texts = list(dict.fromkeys(values[0] for values, _ in rows))
            found = [
                ((text, str(one.iri)), one.confidence) for text in texts for one in self.mentions(text, types=types)
            ]
        best: dict[Any, float] = {}
        for key, chance in found:
            best[key] = max(chance, best.get(key, 0.0))
        if any(judgement is not None for _, judgement in rows):
            best = {key: chance for key, chance in best.items() if key in known}
        right = [known.get(key, False) for key in best]
        return evaluated(of, list(best.values()), right, sum(same and key not in best for key, same in known.items()))

    def _key(self, of: str, values: tuple[str, ...]) -> Any:
        if of == "mentions":
            return values[0], self._named(values[1])
        if of == "duplicates":
            return frozenset(map(self._named, values))
        return (*map(self._named, values[:2]), self._object(values[2]))

    def _named(self, name: str) -> str:
        return str(self._namespaces.entity(name).value)

    def _object(self, text: str) -> str:
        return str(self._namespaces.term(text).value)

    def _of_names(self, rows: list[tuple[tuple[str, ...], bool | None]], types: object) -> Evaluation:
        from worlds.curation.findings.evaluating import evaluated

        chances: list[float] = []
        right: list[bool] = []
        missed = 0
        asked = [(values[0], values[2] if len(values) > 2 and values[2] else None) for values, _ in rows]
        for (values, judgement), found in zip(rows, self.resolve_all(asked, types=types), strict=True):
            meant = self._named(values[1]) if values[1] and judgement is not False else None
            best = found.candidates[0] if found.candidates else None
            if best is not None:
                chances.append(best.confidence)
                right.append(str(best.iri) == meant)
            missed += meant is not None and (best is None or str(best.iri) != meant)
        return evaluated("resolve", chances, right, missed)
