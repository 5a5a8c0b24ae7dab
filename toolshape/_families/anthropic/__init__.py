from toolshape._families.anthropic.responses import PROVIDERS

__all__ = ["PROVIDERS"]
