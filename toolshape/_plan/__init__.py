"""Plans the calls of one response, runs them, and holds their states until each call is answered.

In: the reading of a response, and what answers each call. Out: results, and the tokens and ledger
rows that restore them. Every change of a call's state goes through the table in ``state.py``; begin
there.
"""
