"""The arguments that several tools take, with what an agent is told of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Names = str | list[str] | None

Types = Annotated[Names, Field(description="Only of subjects with one of these classes, e.g. 'ex:Report'.")]
Subclasses = Annotated[bool, Field(description="Whether `types` takes in the classes below them.")]
Subjects = Annotated[Names, Field(description="Only texts of these entities.")]
Predicates = Annotated[Names, Field(description="Only texts under these predicates, e.g. 'rdfs:label'.")]
Graphs = Annotated[Names, Field(description="Only in these graphs; 'default' is the default graph.")]
Languages = Annotated[Names, Field(description="Only texts in these languages, e.g. 'en'; '' is none.")]
Where = Annotated[
    str | None,
    Field(description="Only subjects that match this SPARQL group pattern over ?subject: "
          "'?subject ex:year ?y . FILTER(?y > 2020)'."),
]  # fmt: skip
Mode = Annotated[
    Literal["hybrid", "vector", "text"], Field(description="By meaning and words together, by meaning, or by words.")
]
Cursor = Annotated[str | None, Field(description="From an earlier answer: gives what follows it.")]
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
