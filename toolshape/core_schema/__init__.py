"""pydantic's core schemas in, stricter ones out, and what counts, names and tells their values apart."""
