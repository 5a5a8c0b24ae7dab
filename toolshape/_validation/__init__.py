"""Validates and coerces the arguments that a model wrote, or rejects them with feedback on what is wrong."""
