"""Binds tools to a provider: ``Registry`` and ``Bound``, the objects that applications hold.

In: tools and the name of a provider. Out: requests, exports, plans and messages for this provider.
This room only combines the rooms below it; a rule of a provider never belongs here.
"""
