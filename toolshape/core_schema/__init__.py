"""pydantic's core schemas: made stricter, and asked about keys, choices, tags and defaults."""
