"""A curator's scripts: each whole, in fifteen lines at most."""

from __future__ import annotations

import pytest
import rdflib

import worlds

EX = rdflib.Namespace("http://example.org/")
VOCABULARY = b"""
@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:born a owl:FunctionalProperty .
"""
SHAPES = b"""
@prefix ex: <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
ex:PersonShape a sh:NodeShape ; sh:targetClass ex:Person ;
    sh:property [ sh:path ex:born ; sh:maxCount 1 ; sh:message "a person is born once" ] .
"""
IMPORT = b"""
@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:x1 rdfs:label "Hopper, Grace" ; ex:born "1906-12-09" ; ex:field "compilers" .
ex:x2 rdfs:label "Mary Somerville" ; ex:born "1780-12-26" .
"""


def kept() -> worlds.World:
    world = worlds.open(embedder=None)
    world.bind("ex", str(EX))
    world.add([("ex:grace", "rdfs:label", '"Grace Hopper"'), ("ex:grace", "ex:born", '"1906-12-09"')], author="ann")
    world.add([("ex:grace", "ex:field", '"compilers"'), ("ex:grace", "rdf:type", "ex:Person")], author="ann")
    return world


def test_find_and_merge_the_duplicates_of_a_partners_import() -> None:
    with kept() as w:
        w.load(IMPORT, format="turtle", graph="ex:partner")
        found = w.curation.duplicates(between=("default", "ex:partner"))
        assert [set(pair.subjects) for pair in found] == [{EX.grace, EX.x1}]
        print(found[0].score, found[0].evidence, found[0].against)
        (proposal,) = w.proposals.add_all(found, author="finder")
        w.proposals.accept(proposal.id, reviewer="ann")
        assert not w.curation.duplicates(between=("default", "ex:partner"))
        assert w.describe("ex:x1").label == "Grace Hopper"  # the old name leads on
        assert {check.name: check.examples for check in w.curation.report()}["missing label"] == ()


def test_find_contradictions_with_who_wrote_them() -> None:
    with kept() as w:
        w.load(VOCABULARY, format="turtle")
        w.add([("ex:grace", "ex:born", '"1907-01-01"')], author="bob", message="from a blog")
        (finding,) = (one for one in w.curation.contradictions() if one.kind == "functional")
        wrote = {str(said.quad[2]): said.added.author for said in finding.quads if said.added}
        assert wrote == {"1906-12-09": "ann", "1907-01-01": "bob"}


def test_validate_against_shapes_before_a_change_is_kept() -> None:
    with kept() as w:
        w.shapes.load(SHAPES, format="turtle")
        w.shapes.guard = "reject"
        with pytest.raises(worlds.ValidationError, match="a person is born once"):
            w.add([("ex:grace", "ex:born", '"1907-01-01"')], author="bob")
        assert w.count("ex:grace", "ex:born") == 1


def test_propose_links_for_unlinked_mentions() -> None:
    with kept() as w:
        w.add([(f"ex:p{n}", "ex:author", person) for n, person in enumerate(["ex:grace"] * 3)])
        w.add([("ex:p9", "ex:author", '"Grace Hopper"')], author="bob")
        (link,) = w.curation.links()
        (proposal,) = w.proposals.add_all([link], author="linker")
        w.proposals.accept(proposal.id, reviewer="ann")
        assert w.count("ex:p9", "ex:author", "ex:grace") == 1


def test_correct_many_labels_with_preview_audit_and_undo() -> None:
    with kept() as w:
        w.add([(f"ex:e{n}", "rdfs:label", f'"  label {n}"') for n in range(300)])
        untidy = [quad for quad in w.quads(None, "rdfs:label") if str(quad[2]) != str(quad[2]).strip()]
        assert len(w.remove(untidy, dry_run=True).removed) == 300
        with w.transaction(author="ann", message="labels without spaces at their edges"):
            w.remove(untidy)
            w.add([(s, p, rdflib.Literal(str(o).strip()), g) for s, p, o, g in untidy])
        entry = w.history(1)[0]
        assert (entry.author, entry.added, entry.removed) == ("ann", 300, 300)
        assert {check.name: check.count for check in w.curation.report()}["untidy label"] == 0
        w.undo(entry.revision)
        assert {check.name: check.count for check in w.curation.report()}["untidy label"] == 300
