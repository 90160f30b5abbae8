"""Curation: what is wrong is found, changes are proposed and decided on, claims are verified."""
