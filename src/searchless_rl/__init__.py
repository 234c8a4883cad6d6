"""Reproduction study of *Beyond Search-Imitation: Prior-Directed Exploration for Searchless Chess*."""

__version__ = "0.1.0"
