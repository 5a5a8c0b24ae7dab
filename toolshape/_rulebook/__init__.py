"""Tests the rules of a provider: sends, for each rule, a request that it refuses and a twin that no rule refuses."""
