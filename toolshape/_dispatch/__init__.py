"""Reads the calls of a response, plans them, runs them and answers them."""
