"""Fakes: a provider's wire on this machine, with the provider's own rules behind it."""

from toolshape.testing.fake.exchange import Exchange
from toolshape.testing.fake.fake import Fake
from toolshape.testing.fake.refusals import Refused
from toolshape.testing.fake.turn import Turn

__all__ = ["Exchange", "Fake", "Refused", "Turn"]
