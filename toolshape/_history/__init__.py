"""Reads a conversation's messages from any provider, writes them for any
other, and repairs what it rejects.

In: messages of one provider. Out: the same conversation in another provider's form, with a list of
the repairs. A repair is a named rule in ``repairs/``; the rule's evidence stands with the provider,
in its family.
"""
