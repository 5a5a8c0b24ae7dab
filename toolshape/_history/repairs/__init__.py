"""Repairs of histories: each is a named rule that changes what a provider rejects, and says so."""
