from toolshape._families.xai_grpc.responses import PROVIDERS

__all__ = ["PROVIDERS"]
