"""Keeps a conversation across providers: its messages, its open turn, and its JSON.

In: messages of users, responses of any provider. Out: the next request for any provider; the stored
conversation. What a stored conversation holds is decided in ``message_json.py``; how messages are
converted, in ``_history``.
"""
