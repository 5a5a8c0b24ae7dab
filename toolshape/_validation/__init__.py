"""Validates and coerces the arguments that a model wrote, or rejects them with feedback for the model."""
