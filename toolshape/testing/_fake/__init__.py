"""Fakes: a provider's wire on this machine, with the provider's own rules behind it."""

from toolshape.testing._fake.exchange import Exchange
from toolshape.testing._fake.fake import Fake
from toolshape.testing._fake.refusals import Refused
from toolshape.testing._fake.turn import Turn

__all__ = ["Exchange", "Fake", "Refused", "Turn"]
