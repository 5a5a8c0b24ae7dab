from toolshape._families.openai_responses.responses import PROVIDERS

__all__ = ["PROVIDERS"]
