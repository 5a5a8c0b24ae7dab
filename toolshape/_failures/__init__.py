"""Explains why a request to a provider failed, and which tool, path and rule it names.

In: an exception of an SDK, or the body of an error. Out: a ``Failure`` that says what to do.
To recognise another error, add its words to ``facts.py`` with the response that showed it.
"""
