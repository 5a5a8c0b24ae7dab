"""Fake providers: local servers and transports that speak a wire format and keep its rules."""
