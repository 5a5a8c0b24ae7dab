from toolshape._families.gemini_interactions.responses import PROVIDERS

__all__ = ["PROVIDERS"]
