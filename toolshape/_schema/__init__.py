"""JSON Schema and JSON values: schema rewrites that can be inverted on arguments. Uses only the standard library."""
