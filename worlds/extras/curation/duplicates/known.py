"""Names, values, types, links and words of the compared entities, in arrays."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from worlds.core.quads.dictionary import LITERAL, Ids
from worlds.extras.curation.columns.axioms import OWL, PART_OF, RDFS, TYPE, Axioms
from worlds.extras.curation.columns.quad_columns import (
    NO_IDS,
    Lists,
    Mask,
    QuadTable,
    code,
    distinct,
    firsts,
    groups,
    numbers,
    parts,
    place,
    spread,
    sums,
)
from worlds.extras.curation.duplicates.likeness import Names
from worlds.extras.curation.duplicates.string_similarity import NameIndex, Shares, Spellings, folded, plain

MOST_NAMES = 12  # of an entity that are compared
_BEARERS, _IDENTIFIERS = 2.5, 10  # entities that have one identifier, on average, and identifiers that there are
CAP = 12.0  # bits of one value
_MANY, _DRAWN = 4, 12  # entities that have a value, from which on it may go along with others; pairs of them to see it
_LONG = 80  # characters from which on a text is compared by its words

_code = re.compile(r"(?=\S*\d)(?=\S*[^\W\d_])\S+").fullmatch  # as "T1586.003"
_bracketed = re.compile(r"\([^()]*\)|\[[^\[\]]*\]").sub
_READ = 1_500  # characters of a text whose words are read
_CODE = 4  # characters of a word with figures that is a code
_COMPARED = 300  # entities with a word in common that one is compared with, those with its rarest words first
_BLOCK = 1_000  # entities at a time
_PACKED, _SCALE = 20, 2048  # bits that the weight of a word takes, and the steps of its unit
_RARE = 3  # entities on average that a rare code belongs to
_words = re.compile(r"\w+").findall
_chunks = re.compile(r"[^\s/,;()\[\]|]+").findall
_signs = re.compile(r"[\W_]+").sub
_figure = re.compile(r"\d").search


class KnownNames:
    """The names of entities, which are given by their places among all that are compared."""

    def __init__(self, table: QuadTable, entities: Ids, naming: Sequence[int]) -> None:
        """`naming` are the predicates of names, labels first."""
        self._table = table
        self._naming = naming
        subjects, objects = [NO_IDS], [NO_IDS]
        for predicate in naming:
            left, right = table.pairs(predicate)
            of = table.kinds[right] == LITERAL
            subjects.append(left[of])
            objects.append(right[of])
        left, right = np.concatenate(subjects), np.concatenate(objects)
        literals = distinct(right)
        values = table.values(literals)
        numbered: dict[Hashable, int] = {}
        which_text = numbers((values[literal] for literal in literals.tolist()), numbered)
        self.texts = [str(text) for text in numbered]
        told = which_text[np.searchsorted(literals, right)] if len(right) else right
        first = np.sort(np.unique(left, return_index=True)[1]) if len(left) else left
        order = np.argsort(left[first], kind="stable")
        self._labelled, self._labels = left[first][order], told[first][order]
        places = place(left, entities)
        of = places >= 0
        codes = code(places[of], told[of])
        fresh = np.sort(np.unique(codes, return_index=True)[1])
        whose, which = parts(codes[fresh])
        used = distinct(which)
        self._used = used
        which = np.searchsorted(used, which)
        names = Lists.by(whose, which, len(entities))
        self.names = Lists(names.starts, np.minimum(names.counts, MOST_NAMES), names.values)
        owners, kept = self.names.each(np.arange(len(entities)))
        self.bearers = Lists.by(kept, owners, len(used))
        self.index = NameIndex([self.texts[number] for number in used.tolist()])
        self.comparing = Names(self.index.names, self.index.words)
        self.as_words = self.comparing.as_words
        self.bare = numbers(folded(_bracketed("", name)) for name in self.index.names)
        # An entity counts once for the names of the same words.
        once = distinct(code(owners, self.as_words[kept])) & 0xFFFFFFFF if len(kept) else NO_IDS
        self._called = np.bincount(once, minlength=int(self.as_words.max(initial=0)) + 1)

    def called(self, names: Ids) -> Ids:
        """The number of entities that have a name of the same words."""
        found: Ids = self._called[self.as_words[names]]
        return found

    def label(self, terms: Ids) -> Ids:
        """The number of the text that each term is labelled with; -1 for none."""
        places = place(terms, self._labelled)
        return np.where(places >= 0, self._labels[places], -1) if len(self._labels) else places

    def rows(self, entity: int, name: int) -> list[int]:
        """The rows that give an entity, by its id, a name."""
        text = self.index.names[name]
        found: list[int] = []
        for predicate in self._naming:
            rows = self._table.values_of(entity, predicate)
            texts = self._table.values(self._table.objects[rows.start : rows.stop]) if rows else {}
            found += [row for row in rows if texts.get(int(self._table.objects[row])) == text]
        return found


class KnownValues:
    """The values of entities beside their names and types: each under a key, equal for equal texts.

    What is said are rows of (entity, predicate, key): `slots` are the distinct (entity, predicate), `values` the keys
    of each; `mine` the slots of each entity.
    """

    def __init__(self, table: QuadTable, entities: Ids, names: KnownNames, naming: Sequence[int]) -> None:
        idle = table.ids([TYPE, OWL + "sameAs", OWL + "differentFrom", RDFS + "isDefinedBy"])
        whose = place(table.subjects, entities)
        of = (whose >= 0) & ~np.isin(table.predicates, [*naming, *idle])
        whose, predicates, objects = whose[of], table.predicates[of], table.objects[of]
        linked = place(objects, entities)
        self.links = distinct(code(whose[linked >= 0], linked[linked >= 0]))
        terms = distinct(objects)
        keys = self._keys(table, terms, names)[np.searchsorted(terms, objects)]
        self.predicates = distinct(predicates)
        self.upward = np.isin(self.predicates, table.ids([iri for iri, down in PART_OF.items() if not down]))
        kinds = np.searchsorted(self.predicates, predicates)
        order = np.lexsort((keys, kinds, whose))
        whose, kinds, keys = whose[order], kinds[order], keys[order]
        fresh = firsts(code(whose, kinds)) | firsts(keys)
        whose, kinds, keys = whose[fresh], kinds[fresh], keys[fresh]
        starts = np.flatnonzero(firsts(code(whose, kinds)))
        self.kind = kinds[starts]
        self.slots = code(whose[starts], kinds[starts])  # ascending
        self.values = Lists(starts, np.diff(np.append(starts, len(keys))), keys)
        self.told = np.sort(code(np.repeat(np.arange(len(starts)), self.values.counts), keys))
        of_entity = np.bincount(whose[starts], minlength=len(entities))
        self.mine = Lists(np.cumsum(of_entity) - of_entity, of_entity, np.arange(len(starts)))
        held, at = np.unique(code(whose, keys), return_index=True)
        self.held = held  # (entity, key), ascending
        self.held_kind = kinds[at]
        owners, whole = parts(held)
        self.keys = Lists.by(owners, np.arange(len(held)), len(entities))
        self.having = Lists.by(whole, owners, len(self.shown))
        self.bits = self._bits()
        size = len(self.predicates)
        having = np.bincount(self.kind, minlength=size)
        often = np.unique(code(kinds, keys), return_counts=True)
        self.single = having / np.maximum(np.bincount(kinds, minlength=size), 1)
        self.by_chance = np.bincount(
            often[0] >> 32, (often[1] / having[often[0] >> 32]) ** 2 if size else None, minlength=size
        )
        literal = np.bincount(kinds, self.is_short[keys], minlength=size) >= 0.9 * np.bincount(kinds, minlength=size)
        self.identifying = (
            literal & (self.single > 0.9) & (self.by_chance * having <= _BEARERS) & (having >= _IDENTIFIERS)
        )

    def _bits(self) -> Shares:
        """The weight of each key as evidence that two entities with it are the same, in bits; a value that goes along
        with others, as the licence of all files of a project, shares the bits with them."""
        holders = self.having.counts
        size = max(len(self.keys.counts), 2)
        bits = np.clip(np.log2(size / np.maximum(holders - 1, 1)), 0.0, CAP)
        shared = np.flatnonzero((holders >= _MANY) & (bits > 1))
        chance = np.random.default_rng(1)
        places = chance.integers(0, holders[shared][:, None, None], size=(len(shared), _DRAWN, 2))
        a, b = np.moveaxis(self.having.values[self.having.starts[shared][:, None, None] + places], 2, 0).reshape(2, -1)
        drawn = np.repeat(shared, _DRAWN)[a != b]
        a, b = a[a != b], b[a != b]
        owners, held = self.keys.each(a)
        keys = self.held[held] & 0xFFFFFFFF
        both = place(code(b[owners], keys), self.held) >= 0
        along = np.bincount(drawn[owners[both]], bits[keys[both]], minlength=len(bits))  # the key's own among them
        often = np.maximum(np.bincount(drawn, minlength=len(bits)), 1)
        found: Shares = bits * np.minimum(bits / np.maximum(along / often, 1e-9), 1.0)
        return found

    def _keys(self, table: QuadTable, terms: Ids, names: KnownNames) -> Ids:
        """The key of each term: that of its text, or its label's."""
        texts = table.values(terms[table.kinds[terms] == LITERAL])
        labels = names.label(terms).tolist()
        numbered: dict[object, int] = {}
        shown: list[int] = []
        short: dict[int, str] = {}
        words: dict[str, int] = {}
        long: dict[int, list[int]] = {}
        found = np.empty(len(terms), dtype=np.int64)
        for at, (term, label) in enumerate(zip(terms.tolist(), labels, strict=True)):
            literal = texts.get(term)
            text = literal if literal is not None else names.texts[label] if label >= 0 else None
            key: object = term if text is None else (folded(text) if len(text) <= _LONG else text)
            number = found[at] = numbered.setdefault(key or term, len(numbered))
            if number == len(shown):
                shown.append(term)
            if literal is None:
                continue
            if len(literal) <= _LONG:
                short[number] = literal
            elif number not in long:
                long[number] = [words.setdefault(word, len(words)) for word in dict.fromkeys(literal.lower().split())]
        self.shown = np.array(shown, dtype=np.int64)
        self.is_literal = table.kinds[self.shown] == LITERAL
        self.is_short = np.zeros(len(shown), dtype=bool)
        self.is_short[list(short)] = True
        self._long = Lists.of([long.get(number, ()) for number in range(len(shown))])
        self._in_long = np.sort(code(np.repeat(np.arange(len(shown)), self._long.counts), self._long.values))
        self.texts = [texts.get(term, "") for term in shown]
        self._written = [short.get(number, "") for number in range(len(shown))]
        self.coded = np.array([bool(_code(text)) for text in self._written], dtype=bool)
        self._digits = [re.sub(r"\D", "", text) for text in self._written]
        self.is_number = np.array([2 * len(d) > len(t) for d, t in zip(self._digits, self._written, strict=True)], bool)
        return found

    def alike(self, left: Ids, right: Ids) -> Shares:
        """The similarity of keys' texts: of long ones by words, of others by spelling; 0 for keys without a text.

        Of numbers and dates the digits alone are compared: one wrong digit, or two that changed places.
        """
        found = np.zeros(len(left))
        both = np.flatnonzero((self._long.counts[left] > 0) & (self._long.counts[right] > 0))
        sizes = self._long.counts[left[both]], self._long.counts[right[both]]
        both = both[2 * np.minimum(*sizes) >= np.maximum(*sizes)]
        owners, words = self._long.each(left[both])
        shared = place(code(right[both][owners], words), self._in_long) >= 0
        common = np.bincount(owners[shared], minlength=len(both))
        every = self._long.counts[left[both]] + self._long.counts[right[both]] - common
        found[both] = common / np.maximum(every, 1)
        both = np.flatnonzero(self.is_short[left] & self.is_short[right])
        used = distinct(np.concatenate([left[both], right[both]]))
        one, other = np.searchsorted(used, left[both]), np.searchsorted(used, right[both])
        numbers = self.is_number[left[both]] & self.is_number[right[both]]
        digits = Spellings([self._digits[key] for key in used.tolist()])
        texts = Spellings([self._written[key].casefold() for key in used.tolist()])
        for spelt, of in ((digits, numbers), (texts, ~numbers)):
            found[both[of]] = spelt.ratios(one[of], other[of])
        return found


class KnownTypes:
    """Mask of the pairs with a type in common, superclasses counted."""

    def __init__(self, axioms: Axioms, entities: Ids) -> None:
        subjects, kinds = axioms.types
        whose = place(subjects, entities)
        of = whose >= 0
        above: dict[int, set[int]] = {}
        numbered: dict[frozenset[int], int] = {frozenset(): 0}
        self._of = np.zeros(len(entities), dtype=np.int64)
        for entity, (theirs,) in groups(whose[of], kinds[of]):
            for kind in theirs.tolist():
                if kind not in above:
                    above[kind] = axioms.above(kind)
            every = frozenset[int]().union(*(above[kind] for kind in theirs.tolist()))
            self._of[entity] = numbered.setdefault(every, len(numbered))
        self._sets = list(numbered)

    def compared(self, a: Ids, b: Ids) -> Ids:
        """1 for a common type, -1 for none in common, 0 where nothing is known of one."""
        codes, places = np.unique(code(self._of[a], self._of[b]), return_inverse=True)
        told = [
            0 if not one or not other else 1 if self._sets[one] & self._sets[other] else -1
            for one, other in zip(*(part.tolist() for part in parts(codes)), strict=True)
        ]
        return np.array(told, dtype=np.int64)[places]


def words(text: str) -> Iterable[str]:
    """Yield the words of a text, and its codes without punctuation: "PS-LX350H" is also "pslx350h"."""
    told = plain(text[:_READ].casefold())
    yield from _words(told)
    for chunk in _chunks(told):
        if not chunk.isalnum() and _figure(chunk) and len(glued := _signs("", chunk)) >= _CODE:
            yield glued


class WordNumbers:
    """Numbers of words, and which of them are codes."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, texts: Iterable[str]) -> Lists:
        """The words of each text, each word once."""
        numbers = self._numbers
        return Lists.of([[numbers.setdefault(word, len(numbers)) for word in set(words(text))] for text in texts])

    @property
    def codes(self) -> Mask:
        """The words that have figures and are long enough to be codes."""
        return np.array([len(word) >= _CODE and bool(_figure(word)) for word in self._numbers], dtype=bool)


class Bags:
    """The words of each entity."""

    def __init__(self, entities: Ids, told: Ids, size: int) -> None:
        """`told` are the numbers of words, each beside its entity's place among `size`."""
        self._codes = distinct(code(entities, told))
        owners, held = self._codes >> 32, self._codes & 0xFFFFFFFF
        self.words = Lists.by(owners, held, size)
        self.often = np.bincount(held, minlength=int(held.max(initial=0)) + 1)
        self.bits = np.log2(1 + size / np.maximum(self.often, 1))
        self._bits = sums(owners, size, self.bits[held])
        self._lengths = np.sqrt(np.maximum(sums(owners, size, self.bits[held] ** 2), 1e-9))

    def shared(self, a: Ids, b: Ids) -> tuple[Ids, Ids]:
        """The words that pairs of entities have in common, and the pair that each is of."""
        owners, held = self.words.each(a)
        both = place(code(b[owners], held), self._codes) >= 0
        return owners[both], held[both]

    def compare(self, a: Ids, b: Ids, codes: Mask) -> tuple[Shares, ...]:
        """How the words of pairs agree, float64 [n] each: their cosine by bits, the share of the bits of the one with
        fewer that the other has, the bits of the rarest common word and of the rarest common code, and whether each
        has a rare code and they share none."""
        owners, held = self.shared(a, b)
        bits = self.bits[held]
        cosine = sums(owners, len(a), bits**2) / (self._lengths[a] * self._lengths[b])
        contained = sums(owners, len(a), bits) / np.maximum(np.minimum(self._bits[a], self._bits[b]), 1e-9)
        rarest = np.zeros((2, len(a)))
        np.maximum.at(rarest[0], owners, bits)
        np.maximum.at(rarest[1], owners, bits * codes[held])
        apart = self._coded(a, codes) & self._coded(b, codes) & (rarest[1] == 0)
        return cosine, contained, *rarest, apart.astype(float)

    def _coded(self, entities: Ids, codes: Mask) -> Mask:
        """Which entities have a rare code."""
        owners, held = self.words.each(entities)
        return sums(owners, len(entities), (codes[held] & (self.often[held] <= _RARE)).astype(float)) > 0

    def nearest(self, left: Ids, right: Ids, most: int) -> Ids:
        """Codes of each of the `left` with the nearest of the `right` by their cosine, at most so many."""
        size = len(self.words.counts)
        of = np.zeros(size, dtype=bool)
        of[right] = True
        owners, held = self.words.each(np.flatnonzero(of))
        bearers = Lists.by(held, np.flatnonzero(of)[owners], len(self.often))
        found = [np.empty(0, dtype=np.int64)]
        for start in range(0, len(left), _BLOCK):
            block = left[start : start + _BLOCK]
            owners, held = self.words.each(block)
            counts = bearers.counts[held]
            order = np.lexsort((counts, owners))
            owners, held, counts = owners[order], held[order], counts[order]
            first = np.flatnonzero(firsts(owners))
            before = np.cumsum(counts) - counts
            before -= np.repeat(before[first], np.diff(np.append(first, len(owners))))
            few = before + counts <= _COMPARED
            owners, held = owners[few], held[few]
            rows, places = spread(bearers.starts[held], bearers.counts[held])
            # A pair of places and the bits of one word are one number, since numbers alone are sorted soonest.
            packed = (owners[rows] * size + bearers.values[places]) << _PACKED
            packed += (self.bits[held[rows]] ** 2 * _SCALE).astype(np.int64)
            packed.sort()
            begins = np.flatnonzero(firsts(packed >> _PACKED))
            own, other = np.divmod(packed[begins] >> _PACKED, size)
            met = np.add.reduceat(packed & ((1 << _PACKED) - 1), begins) / _SCALE if len(begins) else begins
            alike = met / (self._lengths[block[own]] * self._lengths[other])
            alike[block[own] == other] = 0.0
            begins = np.flatnonzero(firsts(own))
            for _ in range(most if len(begins) else 0):
                best = np.maximum.reduceat(alike, begins)
                first = np.flatnonzero((alike == np.repeat(best, np.diff(np.append(begins, len(own))))) & (alike > 0))
                first = first[firsts(own[first])]
                found.append(code(block[own[first]], other[first]))
                alike[first] = 0.0
        return np.concatenate(found)
