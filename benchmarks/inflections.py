"""Words in other inflections: `python -m benchmarks.inflections --manpages DIR --hunspell DIR`.

Debian's translated manual pages (`manpages-de`, `-es`, `-fi`, `-fr`, `-ru`, `manpages-tr`, unpacked in DIR by
`dpkg -x`) are one world, a literal for each paragraph, tagged with its language. A question is some words of one
paragraph, each in another form of the same word that stands in some page: by hunspell's dictionary of the language, or
for Finnish by voikko's analysis. No stemmer has a say in that. Told is how often the paragraph is among the first ten,
by words alone.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

from rdflib import Literal

import worlds
from benchmarks.common import table as print_table

DICTIONARIES = {"de": "de_DE", "es": "es_ES", "fr": "fr", "ru": "ru_RU", "tr": "tr_TR"}
LANGUAGES = ("de", "es", "fi", "fr", "ru", "tr")
WORDS = 4  # of a question
_WORD = re.compile(r"[^\W\d_]{4,}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manpages", type=Path, required=True)
    parser.add_argument("--hunspell", type=Path, required=True, help="the folder of the .aff and .dic files")
    parser.add_argument("--voikko", type=Path, help="where the module libvoikko is")
    parser.add_argument("--questions", type=int, default=50, help="of each language")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    texts = {language: paragraphs(options.manpages, language) for language in LANGUAGES}
    rows = []
    with tempfile.TemporaryDirectory() as folder, worlds.open(Path(folder) / "pages.db", embedder=None) as world:
        began = time.process_time()
        world.add(
            [
                (f"urn:{language}:{number}", "urn:text", Literal(text, lang=language))
                for language in LANGUAGES
                for number, text in enumerate(texts[language])
            ]
        )
        taken = time.process_time() - began
        world.file.compact()
        size = (Path(folder) / "pages.db").stat().st_size
        for language in LANGUAGES:
            if language == "fi" and options.voikko is None:
                continue
            related = (
                _analysed(texts[language], options.voikko)
                if language == "fi"
                else families(options.hunspell / DICTIONARIES[language])
            )
            spoken = {word.lower() for text in texts[language] for word in _WORD.findall(text)}
            related = {word: forms & spoken for word, forms in related.items()}
            asked = questions(texts[language], related, options.questions, random.Random(options.seed))
            figures = []
            for how in ({}, {"languages": language}):
                found = [
                    f"urn:{language}:{place}"
                    in [str(hit.subject) for hit in world.search(question, mode="text", limit=10, **how)]
                    for question, place in asked
                ]
                figures.append(mean(found))
            rows.append((language, len(texts[language]), len(asked), *figures, asked[0][0]))
    print_table(
        f"A paragraph by {WORDS} of its words in other forms, recall@10",
        ("language", "paragraphs", "questions", "all languages", "of the language", "for instance"),
        rows,
    )
    print(f"\n{sum(map(len, texts.values())):,} paragraphs: {taken:.1f} s of CPU to add, {size / 1e6:.1f} MB")


def paragraphs(root: Path, language: str) -> list[str]:
    """The distinct translated paragraphs of a language's manual pages, of sixty letters or more, without markup."""
    found: dict[str, None] = {}
    for path in sorted(root.rglob(f"man/{language}/man*/*.gz")):
        lines: list[str] = []
        for line in [*gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines(), ".PP"]:
            if line.startswith((".", "'")):
                macro, _, rest = line.partition(" ")
                if macro in (".B", ".I", ".BR", ".IR", ".RB", ".RI", ".BI", ".IB"):
                    lines.append(rest)
                elif lines:
                    text = " ".join(re.sub(r"\\f.|\\[&/,|^]|\\\*\(..|\\\(..", "", " ".join(lines)).split())
                    text = text.replace("\\-", "-").replace("\\", "")
                    if sum(map(str.isalpha, text)) >= 60 and " the " not in text:
                        found[text] = None
                    lines = []
            else:
                lines.append(line)
    return list(found)


def questions(
    texts: list[str], related: dict[str, set[str]], count: int, chance: random.Random
) -> list[tuple[str, int]]:
    """Some words of a text in other forms, and the text's number; words that at most one text in fifty has."""
    words = [set(map(str.lower, _WORD.findall(text))) for text in texts]
    texts_with = Counter(word for each in words for word in each)
    found: list[tuple[str, int]] = []
    for number in chance.sample(range(len(texts)), len(texts)):
        able = [word for word in sorted(words[number]) if related.get(word) and texts_with[word] * 50 <= len(texts)]
        if len(able) >= WORDS:
            chosen = chance.sample(able, WORDS)
            found.append((" ".join(chance.choice(sorted(related[word])) for word in chosen), number))
        if len(found) == count:
            break
    return found


def families(dictionary: Path) -> dict[str, set[str]]:
    """The other forms of each form in a hunspell dictionary: those of the same entry, by up to two suffixes."""
    rules: dict[str, list[tuple[str, str, re.Pattern[str], str]]] = defaultdict(list)
    flags = "one"
    for line in dictionary.with_suffix(".aff").read_text("utf-8").splitlines():
        part = line.split("#")[0].split()
        if part[:1] == ["FLAG"]:
            flags = part[1]
        elif part[:1] == ["SFX"] and (len(part) > 4 or (len(part) == 4 and part[2] not in "YN")):
            added, _, more = part[3].partition("/")
            condition = part[4] if len(part) > 4 else "."
            cut = "" if part[2] == "0" else part[2]
            rules[part[1]].append((cut, "" if added == "0" else added, re.compile(f"(?:{condition})$"), more))

    def named(text: str) -> Iterable[str]:
        if flags == "num":
            return text.split(",") if text else ()
        return [text[at : at + 2] for at in range(0, len(text), 2)] if flags == "long" else text

    def forms(word: str, given: str, depth: int) -> set[str]:
        made = {word}
        for flag in named(given):
            for cut, added, condition, more in rules.get(flag, ()):
                if word.endswith(cut) and condition.search(word):
                    form = word[: len(word) - len(cut)] + added
                    made |= forms(form, more, depth - 1) if more and depth else {form}
        return made

    related: dict[str, set[str]] = defaultdict(set)
    for line in dictionary.with_suffix(".dic").read_text("utf-8").splitlines()[1:]:
        word, _, given = line.split("\t")[0].split(" ")[0].partition("/")
        made = {form.lower() for form in forms(word, given, 1) if _WORD.fullmatch(form)}
        if 1 < len(made) <= 400:
            for form in made:
                related[form] |= made - {form}
    return related


def _analysed(texts: list[str], module: Path) -> dict[str, set[str]]:
    """The other forms of each word that stand somewhere in the texts, by voikko's base forms."""
    sys.path.append(str(module))
    from libvoikko import Voikko  # type: ignore[import-not-found]  # of Debian's python3-libvoikko

    voikko = Voikko("fi")
    by_base: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, str] = {}
    for word in {word.lower() for text in texts for word in _WORD.findall(text)}:
        found = {one.get("BASEFORM", "").lower() for one in voikko.analyze(word)}
        if len(found) == 1 and (base := found.pop()):
            by_base[base].add(word)
            bases[word] = base
    return {word: by_base[base] - {word} for word, base in bases.items()}


if __name__ == "__main__":
    main()
