"""The ledger: what mutants of it have shown to be untested."""

import threading
import time

import pytest

from toolshape._records.identity import Identity
from toolshape.ledger import Ledger

CALL = Identity("c:1", "call_1", "pay", "0" * 64, is_lasting=True)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "calls.db", lease=0.3, wait=5)
    yield made
    made.close()


def renewals():
    return [thread for thread in threading.enumerate() if thread.name == "toolshape-ledger"]


def test_the_lease_of_a_call_that_is_run_again_is_renewed(ledger):
    """Its outcome was unknown and it is tried again: while that takes longer than a lease, no other may begin it."""
    ledger.drop(CALL, ledger.claim(CALL, again=False).owner, has_begun=True)
    assert ledger.claim(CALL, again=False).state == "unknown"
    assert ledger.claim(CALL, again=True).state == "ours"
    time.sleep(3 * ledger.lease)
    assert ledger.claim(CALL, again=True).state == "running"


@pytest.mark.parametrize("has_begun", [True, False])
def test_the_thread_that_renews_ends_with_calls_that_are_given_up(ledger, has_begun):
    """Nothing is left to renew once the only call is dropped."""
    ledger.drop(CALL, ledger.claim(CALL, again=False).owner, has_begun=has_begun)
    until = time.monotonic() + 10
    while renewals() and time.monotonic() < until:
        time.sleep(0.05)
    assert not renewals()
