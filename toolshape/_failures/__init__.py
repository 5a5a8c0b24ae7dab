"""Classifies provider errors: what failed, whose fault it is, and whether to retry."""
