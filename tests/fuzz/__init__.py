"""The fuzzer: hostile objects, sent through everything between the wire and the decision."""
