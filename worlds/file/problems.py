"""What the check of a world found."""

from __future__ import annotations

from dataclasses import dataclass, field

from worlds.graph.records import Record


@dataclass(frozen=True)
class Problem:
    """Something that does not agree: how often, a few examples, and what helps. `kind` is a word for programs."""

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
    """What `check` found. `checked` counts what was verified, `recall` tells how many of the nearest a plan finds."""

    _also = ("ok",)

    problems: list[Problem] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    recall: dict[str, float] = field(default_factory=dict)  # "codes" and "index", from 0 to 1, on a sample of vectors

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return not self.problems

    def __str__(self) -> str:
        verified = ", ".join(f"{count:,} {name}" for name, count in self.checked.items())
        return "\n".join([f"checked: {verified}", *(map(str, self.problems) if self.problems else ["no problems"])])
