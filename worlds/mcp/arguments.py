"""The arguments that several tools take, with what an agent is told of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from worlds.search.options import OPTIONS

Names = str | list[str] | None


def option(name: str, example: str = "", *, most: float | None = None) -> Any:
    """What an agent is told of an option of a search: its help, its bounds, its choices."""
    of = OPTIONS[name]
    choices: Any = {"enum": list(of.choices)} if of.choices else None
    return Field(
        description=of.help + (f" E.g. {example}" if example else ""),
        ge=of.least,
        le=of.most if most is None else most,
        json_schema_extra=choices,
    )


Types = Annotated[Names, option("types", "'ex:Report'.")]
Subclasses = Annotated[bool, option("subclasses")]
Subjects = Annotated[Names, option("subjects")]
Predicates = Annotated[Names, option("predicates", "'rdfs:label'.")]
Graphs = Annotated[Names, option("graphs")]
Languages = Annotated[Names, option("languages")]
Where = Annotated[str | None, option("where", "'?subject ex:year ?y . FILTER(?y > 2020)'.")]
Mode = Annotated[str, option("mode")]
Cursor = Annotated[str | None, option("cursor")]
Tokens = Annotated[
    int | None, Field(ge=100, le=100_000, description="About how many tokens the answer may have, if not the default.")
]
Iri = Annotated[str, Field(description="An entity: a prefixed name such as ex:Paris, or an <IRI>.")]
Message = Annotated[str | None, Field(description="Why it is written; the history keeps it.")]


class Exclude(BaseModel):
    """What must not hold."""

    model_config = ConfigDict(extra="forbid")

    subjects: Names = None
    predicates: Names = None
    types: Names = None
    graphs: Names = None
    languages: Names = None
    where: str | None = None
