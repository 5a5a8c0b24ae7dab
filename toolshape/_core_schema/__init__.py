"""pydantic's core schemas: how they are tightened, and what they say of keys, enums, tags and defaults."""
