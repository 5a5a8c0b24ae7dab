from toolshape._families.gemini.responses import PROVIDERS

__all__ = ["PROVIDERS"]
