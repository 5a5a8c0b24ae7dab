"""Defines the commands of the command line, and prints their output."""
