"""Failures of requests: an error of any SDK, a response or a body in, who has to do what about it out."""
