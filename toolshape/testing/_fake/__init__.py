"""Fakes: a provider's wire on this machine, with the provider's own rules behind it."""
