"""JSON Schema and JSON values: rewrites that carry their inverse on arguments. The standard library only."""
