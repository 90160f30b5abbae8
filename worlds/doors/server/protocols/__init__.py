"""The SPARQL 1.1 Protocol, the Graph Store Protocol and the Service Description."""
