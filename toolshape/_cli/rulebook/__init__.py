"""Tests a provider's rules: for each rule, sends a request that the rule refuses
and a twin that no rule refuses.
"""
