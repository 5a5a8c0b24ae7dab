"""Histories of conversations: their rules looked up, their faults repaired, their messages carried between providers."""
