"""Tools that somebody else defined: their formats, their JSON Schemas, and validation by these."""
