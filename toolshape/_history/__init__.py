"""Checks and repairs conversation histories by a provider's rules, and converts messages between providers."""
