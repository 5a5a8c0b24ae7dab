"""Checks and repairs conversation histories according to a provider's rules, and converts them between providers."""
