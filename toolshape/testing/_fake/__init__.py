"""Fake providers: local servers and transports that answer in a provider's
wire format and enforce its rules.
"""
