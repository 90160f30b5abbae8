"""The problems that the check of a world finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from worlds.graph.records import Record


@dataclass(frozen=True)
class Problem:
    """An inconsistency: its count, examples and remedy. `kind` is a word for programs."""

    kind: str
    message: str
    count: int
    examples: tuple[str, ...]
    remedy: str

    def __str__(self) -> str:
        examples = f" (such as {'; '.join(self.examples)})" if self.examples else ""
        return f"{self.message}{examples}. Remedy: {self.remedy}."


@dataclass
class CheckReport(Record):
    """The result of `check`. `checked` counts verified parts, `recall` is the share of the nearest that plans find."""

    _also = ("ok",)

    problems: list[Problem] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    recall: dict[str, float] = field(default_factory=dict)  # "codes" and "index", from 0 to 1, on a sample of vectors

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __str__(self) -> str:
        verified = ", ".join(f"{count:,} {name}" for name, count in self.checked.items())
        return "\n".join([f"checked: {verified}", *(map(str, self.problems) if self.problems else ["no problems"])])
